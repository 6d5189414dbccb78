// What an encoder reads of a question and a text, and the samples of training.
#include "data/question_windows.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/question_dataset.h"
#include "error_message.h"
#include "ops/same_batch.h"
#include "temporary_folder.h"
#include "text/characters.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

Ids numbers(int32_t first, int64_t count) {
  Ids ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(first + static_cast<int32_t>(i));
  return ids;
}

TEST(QuestionWindows, LayOutAQuestionAndAText) {
  const QuestionWindows windows({.bos = 1, .eos = 2, .tokens = 20, .stride = 4}, 2, 3);
  EXPECT_EQ(windows.size(), 1);
  EXPECT_EQ(windows.tokens(0), 8);
  EXPECT_EQ(windows.cut(), 0);
  BatchBuilder builder;
  windows.add(0, Ids{10, 11}, Ids{20, 21, 22}, builder, Ids{1, 2});
  expect_equal(builder.take(),
               BatchBuilder().source(Ids{1, 10, 11, 2, 20, 21, 22, 2}).choose({4, 7}, Ids{1, 2}).take());
  const QuestionWindows plain({.bos = -1, .eos = 2, .tokens = 20, .stride = 4}, 2, 3);
  EXPECT_EQ(plain.tokens(0), 7);
  plain.add(0, Ids{10, 11}, Ids{20, 21, 22}, builder);
  expect_equal(builder.take(), BatchBuilder().source(Ids{10, 11, 2, 20, 21, 22, 2}).choose({3, 6}).take());
}

/// All tokens of a text are read, none more than the model takes, and what is not longer than half a window
/// lies in one of them whole.
TEST(QuestionWindows, CoverLongTexts) {
  for (const int32_t bos : {-1, 1})
    for (const int64_t tokens : {8, 9, 20, 33})
      for (const int64_t stride : {1, 3, 100})
        for (const int64_t question : {0, 1, 5, 100})
          for (const int64_t text : {0, 1, 2, 7, 40, 101}) {
            const QuestionWindows windows({.bos = bos, .eos = 2, .tokens = tokens, .stride = stride}, question,
                                          text);
            SCOPED_TRACE(testing::Message()
                         << bos << " " << tokens << " " << stride << " " << question << " " << text);
            ASSERT_EQ(windows.size() == 0, text == 0);
            if (text == 0) continue;
            EXPECT_EQ(windows.window(0).begin, 0);
            EXPECT_EQ(windows.window(windows.size() - 1).end, text);
            const int64_t half = windows.window(0).size() / 2;
            for (int64_t i = 0; i < windows.size(); ++i) {
              const RowRange range = windows.window(i);
              BatchBuilder builder;
              windows.add(i, numbers(100, question), numbers(1000, text), builder);
              const Batch batch = builder.take();
              EXPECT_EQ(batch.tokens(), windows.tokens(i));
              EXPECT_LE(batch.tokens(), tokens);
              EXPECT_EQ(batch.choices[0].size(), range.size());
              EXPECT_EQ(batch.source.ids[static_cast<size_t>(batch.choices[0].begin)], 1000 + range.begin);
              if (i == 0) continue;
              const RowRange before = windows.window(i - 1);
              EXPECT_GT(range.begin, before.begin);
              EXPECT_GT(range.end, before.end);
              EXPECT_GE(before.end - range.begin, half);
            }
          }
}

TEST(QuestionWindows, CutLongQuestions) {
  const QuestionWindows windows({.bos = 1, .eos = 2, .tokens = 13, .stride = 100}, 9, 6);
  EXPECT_EQ(windows.cut(), 4);
  EXPECT_EQ(windows.size(), 2);
  BatchBuilder builder;
  windows.add(1, numbers(10, 9), numbers(20, 6), builder, Ids{5, 5});
  expect_equal(builder.take(), BatchBuilder()
                                   .source(Ids{1, 10, 11, 12, 13, 14, 2, 22, 23, 24, 25, 2})
                                   .choose({7, 11}, Ids{3, 3})
                                   .take());
}

TEST(QuestionWindows, FindTheTokensOfBytes) {
  const std::vector<LocatedToken> tokens{{0, 0, 0}, {0, 0, 3}, {0, 3, 4}, {0, 4, 9}, {0, 10, 12}};
  EXPECT_EQ(tokens_of_bytes(tokens, 0, 3), (RowRange{1, 2}));
  EXPECT_EQ(tokens_of_bytes(tokens, 2, 5), (RowRange{1, 4}));
  EXPECT_EQ(tokens_of_bytes(tokens, 5, 6), (RowRange{3, 4}));
  EXPECT_EQ(tokens_of_bytes(tokens, 9, 11), (RowRange{4, 5}));
  const RowRange none = tokens_of_bytes(tokens, 9, 10);
  EXPECT_FALSE(none.begin < none.end);
}

class Questions : public testing::Test {
 protected:
  Questions() {
    tokenizers_.source = tokenizers_.target = load_characters("\nabcdefghij?", "test");
    tokenizers_.joint = true;
  }
  QuestionDataset dataset(const std::string& lines, const WindowOptions& windows) const {
    write_file_atomically(folder_ / "x", lines);
    write_sequence_store(folder_ / "store", {{folder_ / "x"}, {}}, tokenizers_, {},
                         question_encoder(*tokenizers_.source, InvalidUtf8::error, 1));
    return {map_sequences(folder_ / "store", false), tokenizers_, windows, "hash"};
  }
  Ids encode(const std::string& text) const { return tokenizers_.source->encode(text); }

  TemporaryFolder folder_;
  Tokenizers tokenizers_;
};

/// Of the windows of 6 tokens that begin at 0, 3 and 4, those that have the answer.
TEST_F(Questions, AreSamplesForEachWindowWithTheAnswer) {
  const QuestionDataset data =
      dataset("abcdefghij\ta?\tef\nabcdefghij\tb?\tj\n", {.bos = 1, .eos = 2, .tokens = 11, .stride = 3});
  EXPECT_EQ(data.questions(), 2);
  EXPECT_EQ(data.without_window(), 0);
  EXPECT_EQ(data.cut(), 0);
  ASSERT_EQ(data.size(), 3);
  EXPECT_EQ(data.tokens(0, 0), 11);
  BatchBuilder builder;
  for (int64_t i = 0; i < 3; ++i) data.add(i, 0, builder.sample(static_cast<int32_t>(i)));
  const auto expected = [&](BatchBuilder& to, const std::string& question, const std::string& text,
                            const Ids& labels) {
    Ids ids{1};
    for (const int32_t id : encode(question)) ids.push_back(id);
    ids.push_back(2);
    for (const int32_t id : encode(text)) ids.push_back(id);
    ids.push_back(2);
    to.source(ids);
    to.choose({4, 4 + static_cast<int32_t>(text.size())}, labels);
  };
  BatchBuilder wanted;
  expected(wanted.sample(0), "a?", "abcdef", {4, 5});
  expected(wanted.sample(1), "a?", "defghi", {1, 2});
  expected(wanted.sample(2), "b?", "ghij", {3, 3});
  expect_equal(builder.take(), wanted.take());
  const SampleDescription sample = data.describe(2);
  EXPECT_EQ(sample.texts[0].second, "abcdefghij");
  EXPECT_EQ(sample.texts[1].second, "b?");
  EXPECT_EQ(sample.texts[2].second, "j");
}

TEST_F(Questions, SayWhatTheModelCannotRead) {
  const QuestionDataset data = dataset("abcdefghij\ta?\tabcdefgh\nabcdefghij\tbcdefga?\tj\n",
                                       {.bos = 1, .eos = 2, .tokens = 11, .stride = 3});
  EXPECT_EQ(data.questions(), 2);
  EXPECT_EQ(data.without_window(), 1);
  EXPECT_EQ(data.cut(), 1);
  EXPECT_EQ(data.longer_answers(8), 0);
  EXPECT_EQ(data.longer_answers(7), 1);
  EXPECT_EQ(data.longer_answers(0), 2);
  EXPECT_NE(error_message([&] {
              dataset("abcdefghij\ta?\tabcdefgh\n", {.bos = 1, .eos = 2, .tokens = 11, .stride = 3});
            }).find("data.max_tokens is 11, but no answer of the data fits"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
