#include "metrics/ter.h"

#include <gtest/gtest.h>

#include <sstream>

#include "metrics/metric_goldens.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

/// sacreBLEU's arguments as our options.
TerOptions ter_options(const nlohmann::json& setting) {
  return {.normalized = setting.value("normalized", false),
          .no_punct = setting.value("no_punct", false),
          .asian_support = setting.value("asian_support", false),
          .case_sensitive = setting.value("case_sensitive", false)};
}

TEST(Ter, EqualsSacreBleu) {
  const auto& settings = metric_goldens()["ter"];
  for (const auto& corpus : metric_goldens()["corpora"])
    for (size_t i = 0; i < settings.size(); ++i)
      EXPECT_EQ(fmt::format("{:.6f}", corpus_sums(Ter(ter_options(settings[i][0])), corpus).score()),
                corpus["ter"][i + 1])
          << corpus["name"] << settings[i];
}

TEST(Ter, PrintsTheLineOfSacreBleu) {
  for (const auto& corpus : metric_goldens()["corpora"]) {
    const Ter ter;
    EXPECT_EQ(fmt::format("{}|{} = {:.1f}", ter.name(), signature_with_v(ter, corpus["references"].size()),
                          corpus_sums(ter, corpus).score()),
              corpus["ter"][0]);
  }
}

TEST(Ter, SignatureEqualsSacreBleu) {
  for (const auto& item : metric_goldens()["ter"])
    EXPECT_EQ(signature_with_v(Ter(ter_options(item[0])), 2), item[1]);
}

std::string tercom_tokens(std::string_view sentence, const TerOptions& options) {
  return encode_utf8(tokenize_as_tercom(decode_utf8(sentence), options));
}

TEST(Ter, SplitsWordsAsTercomDoes) {
  EXPECT_EQ(tercom_tokens("It's 3.5 (or 4-5).", {}), "it's 3.5 (or 4-5).");
  EXPECT_EQ(tercom_tokens("It's 3.5 (or 4-5).", {.normalized = true}), "it 's 3.5 ( or 4 - 5 ) .");
  EXPECT_EQ(tercom_tokens("It's 3.5 (or 4-5).", {.no_punct = true, .case_sensitive = true}), "It's 35 or 4-5");
  EXPECT_EQ(tercom_tokens("今天 &amp;。", {.normalized = true}), "今天 & 。");
  EXPECT_EQ(tercom_tokens("今天 &amp;。", {.normalized = true, .asian_support = true}), "今 天 & 。");
  EXPECT_EQ(tercom_tokens("今天。", {.no_punct = true, .asian_support = true}), "今天");
}

/// The numbers are sacreBLEU 2.6.0's.
TEST(Ter, SplitsReferencesTwice) {
  const std::vector<std::string> reference{"a ,.5 b"};
  EXPECT_EQ(Ter({.normalized = true}).statistics("a ,.5 b", reference).amounts, (std::vector<double>{2, 5}));
}

std::vector<uint32_t> letters(const std::string& text) {
  std::vector<uint32_t> numbers;
  std::istringstream words(text);
  for (std::string word; words >> word;) numbers.push_back(static_cast<uint32_t>(word[0] - 'a'));
  return numbers;
}

TEST(TranslationEdits, AreThoseOfSacreBleu) {
  for (const auto& item : metric_goldens()["edits"])
    EXPECT_EQ(translation_edits(letters(item[0]), letters(item[1])), item[2]) << item;
}

TEST(TranslationEdits, AShiftedBlockIsOneEdit) {
  EXPECT_EQ(translation_edits(letters("d e f a b c"), letters("a b c d e f")), 1);
  EXPECT_EQ(translation_edits(letters("d e f a b c x"), letters("a b c d e f")), 2);
}

TEST(TranslationEdits, OfNoWordsAreAllWords) {
  EXPECT_EQ(translation_edits({}, {}), 0);
  EXPECT_EQ(translation_edits(letters("a b"), {}), 2);
  EXPECT_EQ(translation_edits({}, letters("a b c")), 3);
}

/// A long line takes time in proportion to its words, and not to the pairs of them.
TEST(TranslationEdits, AreFoundInLongTexts) {
  std::vector<uint32_t> reference(50'000), translation;
  for (size_t i = 0; i < reference.size(); ++i) reference[i] = static_cast<uint32_t>(i * i % 9973);
  translation = reference;
  for (size_t block = 0; block + 40 < translation.size(); block += 5000)
    std::rotate(translation.begin() + static_cast<std::ptrdiff_t>(block),
                translation.begin() + static_cast<std::ptrdiff_t>(block + 4),
                translation.begin() + static_cast<std::ptrdiff_t>(block + 20));
  EXPECT_EQ(translation_edits(translation, reference), 10);
}

}  // namespace
}  // namespace sixfold
