#include "tasks/translation/unknown_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>

#include "program/small_model.h"
#include "search/beam.h"
#include "tasks/translation/translator_fixture.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// A model of words that writes "a", "b" and unknown tokens, in any order.
class UnknownWords : public testing::Test {
 protected:
  UnknownWords() {
    write_small_model(folder_.path(), 11, true, [](ModelConfig& config) {
      for (int id = 0; id < config.target_vocab; ++id)
        if (id != config.unk && id != config.eos && id > 4) config.generation.suppress_tokens.push_back(id);
      config.generation.min_new_tokens = 4, config.generation.renormalize_logits = true;
    });
  }
  std::vector<TranslatedLine> translate(const std::vector<std::string>& lines, TranslateOptions options) const {
    std::vector<TranslatedLine> found;
    Translator(folder_.path(), {.threads = 1}).translate(lines, options, [&](const TranslatedLine& line) {
      found.push_back(line);
    });
    return found;
  }

  /// What stands for an unknown token: in a model of words each token of the source is one of `words`.
  static std::string attended(const SentenceAttention& seen, size_t token,
                              const std::vector<std::string>& words) {
    std::vector<double> sums(words.size());
    for (int head = 0; head < seen.heads; ++head)
      for (size_t s = 0; s < words.size(); ++s)
        sums[s] += double{
            seen.weights[(static_cast<size_t>(head) * seen.target.size() + token) * seen.source.size() + s]};
    return words[static_cast<size_t>(std::ranges::max_element(sums) - sums.begin())];
  }

  const TemporaryFolder folder_;
  // With the words that may stand in translations.
  const std::vector<std::string> lines_{"Kraków, a (Müller) b!", "a X-1 «Ωmega» ... d.", "你好 世界。 c"};
  const std::vector<std::vector<std::string>> words_{
      {"Kraków", "a", "Müller", "b"}, {"a", "X-1", "Ωmega", "...", "d"}, {"你好", "世界", "c"}};
};

TEST_F(UnknownWords, BecomeTheWordsOfTheSourceThatTheyAttendTo) {
  const auto found = translate(lines_, {.replace_unknown = true,
                                        .n_best = 3,
                                        .details = {.tokens = true, .alignment = true, .attention = true}});
  int replaced = 0, kept = 0;
  for (size_t i = 0; i < lines_.size(); ++i)
    for (const Translation& one : found[i].translations) {
      std::string expected;
      for (size_t t = 0; t < one.tokens.size(); ++t) {
        if (one.tokens[t].text == "</s>") continue;
        const bool unknown = one.tokens[t].text == "<unk>";
        ++(unknown ? replaced : kept);
        expected +=
            (t > 0 ? " " : "") + (unknown ? attended(*one.attention, t, words_[i]) : one.tokens[t].text);
      }
      EXPECT_EQ(one.text, expected);
      std::istringstream text(one.text);
      const auto count = std::distance(std::istream_iterator<std::string>(text), {});
      for (const auto& [source, target] : one.alignment) EXPECT_LT(target, count);
    }
  EXPECT_GT(replaced, 5);
  EXPECT_GT(kept, 5);
}

/// Without unknown tokens no bit changes.
TEST_F(UnknownWords, AreReplacedWhereThereAreSome) {
  TranslateOptions options{.generation = Translator(folder_.path(), {.threads = 1}).generation(), .n_best = 3};
  options.generation->suppress_tokens.push_back(0);  // the unknown token
  const auto without = translate(lines_, options);
  options.replace_unknown = true;
  const auto with = translate(lines_, options);
  for (size_t i = 0; i < lines_.size(); ++i)
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(with[i].translations[rank].text, without[i].translations[rank].text);
      EXPECT_EQ(with[i].translations[rank].score, without[i].translations[rank].score);
    }
}

/// A text that a prefix asks for stays; blank lines and paragraphs are as always.
TEST_F(UnknownWords, AreReplacedWithOtherOptions) {
  const auto found =
      translate({"Kraków a", "", "b"}, {.replace_unknown = true, .constraints = [](size_t, const std::string&) {
                                          return OutputConstraints{.prefix = "a"};
                                        }});
  EXPECT_TRUE(found[0].translations[0].text.starts_with("a ")) << found[0].translations[0].text;
  EXPECT_EQ(found[1].translations[0].text, "");
  const auto split = translate({"Kraków a. Müller b."}, {.split_sentences = "en", .replace_unknown = true});
  EXPECT_EQ(split[0].translations[0].text.find("<unk>"), std::string::npos) << split[0].translations[0].text;
}

/// A model of pieces that writes "s", ",", spaces and unknown tokens.
class UnknownPieces : public testing::Test {
 protected:
  UnknownPieces() {
    const std::vector<std::string> text{"the cat sees the dog, the dog sees the cat."};
    TokenizerOptions options;
    options.vocab_size = 30;
    const Tokenizers tokenizers = make_tokenizers(options, text, text);
    const Tokenizer& target = *tokenizers.target;
    EXPECT_EQ(target.decode(target.encode("the x, cat"), "?"), "the ?, cat");
    write_small_model(folder.path(), 3, tokenizers, [&](ModelConfig& config) {
      for (int id = 0; id < target.vocab_size(); ++id)
        if (const std::string piece = target.token_text(id);
            id != target.unk() && id != target.eos() && piece != "\u2581") {
          if (piece != "s" && piece != ",")
            config.generation.suppress_tokens.push_back(id);
          else
            more_.push_back(id);
        }
      config.generation.min_new_tokens = 9, config.generation.renormalize_logits = true;
    });
  }
  const TemporaryFolder folder;
  std::vector<int32_t> more_;  // "s" and ","
};

/// A word of a source that is cut ends where the model stops to read, and is not long. This takes a moment
/// only, however long the word is.
TEST_F(UnknownPieces, AreReplacedByLongWordsInPart) {
  std::string word;
  while (word.size() < 2'000'000) word += "th\u00e9ca";
  for (const int limit : {10, 1024}) {
    int replaced = 0;
    const Translator translator(folder.path(), {.threads = 1});
    TranslateOptions options{.generation = translator.generation(), .replace_unknown = true};
    auto& suppressed = options.generation->suppress_tokens;
    suppressed.insert(suppressed.end(), more_.begin(), more_.end());
    options.beam_size = options.n_best = 8, options.max_source_length = limit;
    translator.translate({word}, options, [&](const TranslatedLine& line) {
      EXPECT_GT(line.tokens_cut, 0u);
      for (const Translation& one : line.translations) {
        const size_t begin = one.text.find("th\u00e9ca");
        if (begin == std::string::npos) continue;
        const size_t end = one.text.find_first_of(" s,", begin);
        const std::string got = one.text.substr(begin, end - begin);
        EXPECT_TRUE(word.starts_with(got)) << got;
        EXPECT_FALSE(first_invalid_utf8(got));
        EXPECT_LE(got.size(), limit == 10 ? 20u : 1024u);
        EXPECT_GT(got.size(), limit == 10 ? 6u : 1000u);
        ++replaced;
      }
    });
    EXPECT_GT(replaced, 3);
  }
}

/// A word that is unknown in part is replaced as a whole; punctuation at its ends stays.
TEST_F(UnknownPieces, BelongToWordsThatAreReplacedAsAWhole) {
  int replaced = 0, in_part = 0;
  const std::set<std::string> words{"Zürich", "the", "dog", "B-52s"};
  Translator(folder.path(), {.threads = 1})
      .translate({"Zürich, (the) dog", "B-52s the, dog.", "dog Zürich"},
                 {.beam_size = 8, .replace_unknown = true, .n_best = 8, .details = {.tokens = true}},
                 [&](const TranslatedLine& line) {
                   for (const Translation& one : line.translations) {
                     std::string marked;
                     for (const TranslatedToken& token : one.tokens)
                       if (token.text != "</s>")
                         marked += token.text == "\u2581" ? " " : token.text == "<unk>" ? "?" : token.text;
                     std::istringstream expected(marked), found(one.text);
                     std::string word, got;
                     while (expected >> word) {
                       ASSERT_TRUE(found >> got) << one.text;
                       const size_t first = word.find_first_not_of(','), last = word.find_last_not_of(',');
                       if (word.find('?') == word.npos) {
                         EXPECT_EQ(got, word);
                         continue;
                       }
                       const size_t size = got.size() - first - (word.size() - 1 - last);
                       EXPECT_EQ(got.substr(0, first) + got.substr(first + size),
                                 word.substr(0, first) + word.substr(last + 1));
                       EXPECT_TRUE(words.contains(got.substr(first, size))) << got;
                       ++replaced;
                       in_part += word.find('s') != word.npos;
                     }
                     EXPECT_FALSE(found >> got) << one.text;
                   }
                 });
  EXPECT_GT(replaced, 5);
  EXPECT_GT(in_part, 2);
}

/// The score has the coverage penalty of all tokens, those of a prefix too, by the attention that is told.
TEST_F(TranslatorTest, ScoresCountTheCoverage) {
  const Translator translator(path(), {.threads = 2});
  int same_tokens = 0;  // outputs whose text has their tokens
  for (const std::string prefix : {"", "der Hund"}) {
    TranslateOptions options{
        .generation = translator.generation(), .n_best = 2, .details = {.attention = true}};
    options.generation->coverage_penalty = 0.4f;
    if (!prefix.empty())
      options.constraints = [&](size_t, const std::string&) { return OutputConstraints{.prefix = prefix}; };
    translator.translate(lines(), options, [&](const TranslatedLine& line) {
      for (const Translation& one : line.translations) {
        if (!one.attention) continue;
        const SentenceAttention& attention = *one.attention;
        double penalty = 0;
        for (size_t s = 0; s < attention.source.size(); ++s) {
          double covered = 0;
          for (size_t at = s; at < attention.weights.size(); at += attention.source.size())
            covered += double{attention.weights[at]} / attention.heads;
          penalty += std::log(std::min(covered, 1.0));
        }
        const double plain =
            score_of(translator.generation(), one.log_probability, static_cast<int>(attention.target.size()));
        EXPECT_NEAR(one.score, plain + 0.4 * penalty, 1e-4) << line.source;
        const std::string source = line.source, output = one.text;
        TranslateOptions same = options;
        same.details.layer = 0;
        const Translation scored = translator.score({&source, 1}, {&output, 1}, same)[0];
        if (scored.attention->target != attention.target) continue;  // the text has other tokens
        EXPECT_NEAR(scored.score, one.score, 1e-4);
        ++same_tokens;
      }
    });
  }
  EXPECT_GT(same_tokens, 5);
}

}  // namespace
}  // namespace sixfold
