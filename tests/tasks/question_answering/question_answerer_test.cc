#include "tasks/question_answering/question_answerer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/error.h"
#include "error_message.h"
#include "ops/run_op.h"
#include "program/small_answerer.h"
#include "tasks/question_answering/answer_reader.h"
#include "temporary_folder.h"
#include "text/characters.h"

namespace sixfold {
namespace {

using Questions = std::vector<TextQuestion>;

/// Texts and questions of the words "a" to "h", some longer than a window.
Questions many(int count) {
  Questions questions;
  for (int i = 0; i < count; ++i) {
    TextQuestion& one = questions.emplace_back();
    for (int word = 0; word <= i % 23; ++word)
      one.text += std::string(1, static_cast<char>('a' + (i * (word + 3)) % 8)) + " ";
    for (int word = 0; word <= i % 3; ++word)
      one.question += std::string(1, static_cast<char>('a' + (i + word) % 8)) + " ";
  }
  return questions;
}

void expect_same(const TextAnswer& a, const TextAnswer& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.probability, b.probability);
  EXPECT_EQ(a.error, b.error);
}

class QuestionAnswererTest : public testing::Test {
 protected:
  QuestionAnswererTest() { write_small_answerer(model_, 3); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(QuestionAnswererTest, ScoresThatAreNotFiniteAreAnError) {
  damage_weights(model_);
  for (const TextAnswer& one : QuestionAnswerer(model_, {.threads = 1}).answers(many(5))) {
    ASSERT_TRUE(one.error);
    EXPECT_NE(one.error->find("not finite"), std::string::npos) << *one.error;
    EXPECT_EQ(one.text, "");
  }
}

TEST_F(QuestionAnswererTest, AnswersArePartsOfTheText) {
  const QuestionAnswerer answerer(model_, {.threads = 1});
  const Questions questions = many(60);
  const std::vector<TextAnswer> answers = answerer.answers(questions);
  ASSERT_EQ(answers.size(), questions.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    const TextAnswer& one = answers[i];
    EXPECT_FALSE(one.error);
    EXPECT_EQ(one.text, questions[i].text.substr(one.begin, one.end - one.begin));
    EXPECT_FALSE(one.text.empty());
    EXPECT_FALSE(one.text.starts_with(' ') || one.text.ends_with(' ')) << one.text;
    EXPECT_LE(one.text.size(), 5u) << "3 words";
    EXPECT_GT(one.probability, 0);
    EXPECT_LE(one.probability, 1);
  }
  EXPECT_TRUE(answerer.answers({}).empty());
}

/// The bits of an answer do not depend on the other questions or on the number of threads.
TEST_F(QuestionAnswererTest, GivesTheSameAnswerInAnyBatch) {
  const Questions questions = many(700);
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const QuestionAnswerer one(model_, {.threads = 1, .weights = type}),
        two(model_, {.threads = 2, .weights = type});
    const auto all = one.answers(questions), shared = two.answers(questions);
    for (size_t i = 0; i < questions.size(); ++i) {
      expect_same(all[i], shared[i]);
      if (i % 50 == 0) expect_same(one.answers(std::span(&questions[i], 1))[0], all[i]);
    }
  }
}

TEST_F(QuestionAnswererTest, ServesSeveralThreads) {
  const QuestionAnswerer answerer(model_, {.threads = 2});
  const Questions questions = many(100);
  const auto expected = answerer.answers(questions);
  std::vector<std::vector<TextAnswer>> found(3);
  {
    std::vector<std::jthread> threads;
    for (auto& answers : found) threads.emplace_back([&] { answers = answerer.answers(questions); });
  }
  for (const auto& answers : found)
    for (size_t i = 0; i < answers.size(); ++i) expect_same(answers[i], expected[i]);
}

/// A limit of one token: the answers are single words, and a shorter limit never has a better span.
TEST_F(QuestionAnswererTest, LimitsTheLengthOfAnswers) {
  const QuestionAnswerer answerer(model_, {.threads = 1});
  const Questions questions = many(60);
  const auto free = answerer.answers(questions), words = answerer.answers(questions, {.max_answer_tokens = 1});
  bool longer = false;
  for (size_t i = 0; i < questions.size(); ++i) {
    EXPECT_EQ(words[i].text.size(), 1u);
    EXPECT_LE(words[i].probability, free[i].probability * (1 + 1e-12));
    longer |= free[i].text.size() > 1;
  }
  EXPECT_TRUE(longer);
}

/// A text of a window is read alike, whatever the stride; a long one has each window's answer to choose from.
TEST_F(QuestionAnswererTest, ReadsLongTextsInWindows) {
  const QuestionAnswerer answerer(model_, {.threads = 1});
  const std::string text = "a b c d e f g h h g f e d c b a c e g b d f h a";
  const Questions shorter{{"a b c d e f g h", "a"}}, longer{{text, "a"}};
  expect_same(answerer.answers(shorter, {.stride = 1})[0], answerer.answers(shorter, {.stride = 7})[0]);
  const TextAnswer one = answerer.answers(longer, {.stride = 4})[0],
                   other = answerer.answers(longer, {.stride = 1})[0];
  EXPECT_FALSE(one.error || other.error);
  EXPECT_EQ(one.text, text.substr(one.begin, one.end - one.begin));
  EXPECT_NE(one.probability, other.probability) << "more windows";
  EXPECT_EQ(one.tokens_cut, 0u);
  const TextAnswer cut = answerer.answers(Questions{{"a b c d", "a b c d e f g h"}})[0];
  EXPECT_EQ(cut.tokens_cut, 4u) << "half of 9 tokens are the question's";
  EXPECT_FALSE(cut.error);
}

TEST_F(QuestionAnswererTest, WhatIsWrongFailsAlone) {
  const QuestionAnswerer answerer(model_, {.threads = 1});
  const Questions questions{{"a b", "c"},   {" ", "c"},   {"a b", ""},        {"a\xFF", "c"},
                            {"a", "c\xFF"}, {"a b", "c"}, {"a\tb\r\nc", "d"}, {"a\n", std::string("c\0", 2)}};
  const auto answers = answerer.answers(questions);
  EXPECT_FALSE(answers[0].error);
  expect_same(answers[5], answers[0]);
  EXPECT_EQ(answers[1].error.value_or(""), "the text is empty");
  EXPECT_EQ(answers[2].error.value_or(""), "the question is empty");
  EXPECT_EQ(answers[3].error.value_or(""), "the text is not valid text: byte 2 is not valid UTF-8");
  EXPECT_EQ(answers[4].error.value_or(""), "the question is not valid text: byte 2 is not valid UTF-8");
  EXPECT_FALSE(answers[6].error) << "a text may have line ends";
  EXPECT_NE(answers[7].error.value_or("").find("NUL"), std::string::npos);
  for (const size_t i : {1, 2, 3, 4, 7}) EXPECT_TRUE(answers[i].text.empty());
}

TEST_F(QuestionAnswererTest, RefusesOtherModelsAndOptions) {
  write_small_model(folder_ / "translation", 1);
  EXPECT_NE(error_message([&] { QuestionAnswerer(folder_ / "translation"); }).find("not 'question_answering'"),
            std::string::npos);
  EXPECT_NE(error_message([&] { QuestionAnswerer(model_, {.threads = -1}); }).find("threads is -1"),
            std::string::npos);
  const QuestionAnswerer answerer(model_, {.threads = 1});
  const Questions questions = many(1);
  EXPECT_NE(error_message([&] {
              answerer.answers(questions, {.stride = 0});
            }).find("stride: expected a whole number"),
            std::string::npos);
  EXPECT_NE(error_message([&] {
              answerer.answers(questions, {.max_answer_tokens = 0});
            }).find("max_answer_tokens: expected a whole number"),
            std::string::npos);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(answerer.answers(questions, {.cancel = stop.get_token()}), Cancelled);
}

/// The scores of the words of a window as the start and as the end of an answer to the question "a".
HostMatrix window_scores(const Transformer& model, const Tokenizer& tokenizer, const std::string& words) {
  std::vector<int32_t> ids{tokenizer.bos()};
  const auto append = [&](const std::string& text) {
    for (const int32_t id : tokenizer.encode(text)) ids.push_back(id);
    ids.push_back(tokenizer.eos());
  };
  append("a"), append(words);
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  const Batch batch = BatchBuilder().source(ids).take();
  const HostMatrix all =
      host_copy(ops::logits(context, model.states(batch, context), model.output()), *model.backend());
  return all.slice_rows(3, std::ssize(tokenizer.encode(words)));
}

/// The best span of one window; its probability under the softmax over all words, of which those that several
/// windows have count with their best score.
TEST_F(QuestionAnswererTest, IsTheBestSpanByItsDefinition) {
  const Tokenizers tokenizers = load_tokenizers(model_);
  const auto model = load_model(model_, make_backend({.device = "reference"}));
  const QuestionAnswerer answerer(model_, {.threads = 1});
  for (const std::string words : {"cbahd", "hgfedcba", "abcdefghhgfe", "aceghfbdhgacbdfe"}) {
    std::string text;
    for (const char word : words) text += std::string(text.empty() ? "" : " ") + word;
    const size_t count = words.size();
    std::vector<double> starts(count, -1e300), ends = starts;
    double best = -1e300;
    size_t first = 0, last = 0;
    for (size_t begin = 0; begin == 0 || begin + 4 < count; begin += 4) {
      const size_t end = std::min(begin + 8, count);
      const HostMatrix scores =
          window_scores(*model, *tokenizers.source, text.substr(2 * begin, 2 * (end - begin)));
      const auto at = [&](size_t word, size_t kind) { return scores.values[2 * (word - begin) + kind]; };
      for (size_t a = begin; a < end; ++a) {
        starts[a] = std::max(starts[a], at(a, 0)), ends[a] = std::max(ends[a], at(a, 1));
        for (size_t b = a; b < std::min(end, a + 3); ++b)
          if (at(a, 0) + at(b, 1) > best) best = at(a, 0) + at(b, 1), first = a, last = b;
      }
    }
    double start_sum = 0, end_sum = 0;
    for (size_t i = 0; i < count; ++i) start_sum += std::exp(starts[i]), end_sum += std::exp(ends[i]);
    const TextAnswer answer = answerer.answers(Questions{{text, "a"}})[0];
    EXPECT_EQ(answer.begin, 2 * first) << text;
    EXPECT_EQ(answer.end, 2 * last + 1) << text;
    EXPECT_NEAR(answer.probability, std::exp(best) / start_sum / end_sum, 1e-5) << text;
  }
}

/// A text may have as many windows as tokens, of which only those of some batches may be in memory. How they
/// are read does not matter.
TEST_F(QuestionAnswererTest, MakesTheBatchesOfWindowsByTurns) {
  const Tokenizers tokenizers = load_tokenizers(model_);
  const auto model = load_model(model_, make_backend());
  const auto arena = std::make_shared<Arena>(model->backend());
  std::string words;
  for (int i = 0; i < 200; ++i)
    words += std::string(i > 0 ? " " : "") + static_cast<char>('a' + i * i % 11 % 8);
  const auto text = std::make_shared<LocatedText>(words, tokenizers.source->locate(words));
  const auto read = [&](size_t most, bool backwards) {
    AnswerReader reader(
        {.bos = tokenizers.source->bos(), .eos = tokenizers.source->eos(), .tokens = 12, .stride = 1}, 40, 3);
    for (const char* question : {"a", "b", "c d"}) reader.add(text, tokenizers.source->encode(question));
    int64_t windows = 0;
    for (std::vector<Batch> batches; !(batches = reader.next_batches(most)).empty();) {
      EXPECT_LE(batches.size(), most);
      if (backwards) std::ranges::reverse(batches);
      for (const Batch& batch : batches) {
        EXPECT_LE(batch.tokens(), 40);
        windows += std::ssize(batch.samples);
        Context context(model->backend(), arena);
        reader.read(*model, batch, context);
      }
    }
    EXPECT_EQ(windows, 193 + 193 + 194);
    std::vector<double> answers;
    for (size_t i = 0; i < 3; ++i) {
      const FoundSpan found = reader.answer(i).value_or(FoundSpan());
      answers.insert(answers.end(),
                     {static_cast<double>(found.begin), static_cast<double>(found.end), found.probability});
    }
    return answers;
  };
  const auto one = read(1, false);
  EXPECT_GT(one[2], 0);
  EXPECT_EQ(one, read(7, true));
  EXPECT_EQ(one, read(100'000, true));
}

/// Answers begin and end at characters, whatever tokens are, and white space at their ends is not theirs.
TEST(LocatedText, CutsAnswersAtCharacters) {
  const auto bytes = load_bytes(byte_tokenizer_file, "test");
  const std::string text = "\u6771 \u3000\u4eac";
  const LocatedText located(text, bytes->locate(text));
  ASSERT_EQ(located.visible.size(), text.size());
  for (size_t i = 0; i < text.size(); ++i)
    EXPECT_EQ(located.visible[i], i < 3 || i >= 7) << "byte " << i << " of a character or of white space";
  TemporaryFolder folder;
  Tokenizers tokenizers;
  tokenizers.source = tokenizers.target = bytes;
  tokenizers.joint = true;
  write_small_model(folder / "model", 5, tokenizers, [](ModelConfig& config) {
    config.decoder_layers = 0, config.decoder_start_token = ModelConfig::zero_start;
    config.head.kind = OutputHead::span, config.context_tokens = 40, config.task = "question_answering";
  });
  const QuestionAnswerer answerer(folder / "model", {.threads = 1});
  const std::vector<std::string> right{"\u6771", "\u4eac", text};
  for (const char* question : {"a", "b", "c", "d", "e", "f"}) {
    const TextAnswer answer = answerer.answers(Questions{{" " + text + " ", question}})[0];
    EXPECT_TRUE(std::ranges::count(right, answer.text) == 1) << answer.text;
  }
}

}  // namespace
}  // namespace sixfold
