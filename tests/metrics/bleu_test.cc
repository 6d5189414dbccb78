#include "metrics/bleu.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "metrics/metric_goldens.h"

namespace sixfold {
namespace {

template <class E>
E enum_named(const std::string& text) {
  for (const auto& [value, name] : EnumNames<E>::names)
    if (name == text) return value;
  throw std::invalid_argument(text);
}

/// sacreBLEU's arguments as our options.
BleuOptions bleu_options(const nlohmann::json& setting) {
  BleuOptions options;
  options.tokenizer = enum_named<BleuTokenizer>(setting.value("tokenize", "13a"));
  options.smoothing = enum_named<BleuSmoothing>(setting.value("smooth_method", "exp"));
  if (setting.contains("smooth_value")) options.smooth_value = setting["smooth_value"];
  options.lowercase = setting.value("lowercase", false);
  options.max_ngram_order = setting.value("max_ngram_order", 4);
  options.effective_order = setting.value("effective_order", false);
  return options;
}

TEST(Bleu, EqualsSacreBleu) {
  const auto& settings = metric_goldens()["bleu"];
  for (const auto& corpus : metric_goldens()["corpora"]) {
    for (size_t i = 0; i < settings.size(); ++i) {
      const Bleu bleu(bleu_options(settings[i][0]));
      const MetricSums sums = corpus_sums(bleu, corpus);
      EXPECT_EQ(fmt::format("{:.6f} {}", sums.score(), sums.details()), corpus["bleu"][i + 1])
          << corpus["name"] << settings[i];
    }
  }
}

TEST(Bleu, PrintsTheLineOfSacreBleu) {
  for (const auto& corpus : metric_goldens()["corpora"]) {
    const Bleu bleu;
    const MetricSums sums = corpus_sums(bleu, corpus);
    EXPECT_EQ(fmt::format("{}|{} = {:.1f} {}", bleu.name(), signature_with_v(bleu, corpus["references"].size()),
                          sums.score(), sums.details()),
              corpus["bleu"][0]);
  }
}

TEST(Bleu, SignatureEqualsSacreBleu) {
  for (const auto& item : metric_goldens()["bleu"])
    EXPECT_EQ(signature_with_v(Bleu(bleu_options(item[0])), 2), item[1]);
}

TEST(Bleu, CountsClippedMatchesOfAllReferences) {
  const std::vector<std::string> references{"the cat", "a cat on the the mat"};
  // Of the references' 2 and 6 words, which are as near to 4, the shorter.
  EXPECT_EQ(Bleu().statistics("the the the cat", references).amounts,
            (std::vector<double>{4, 2, 3, 2, 0, 0, 4, 3, 2, 1}));
}

TEST(Bleu, OfItselfIs100) {
  const std::vector<std::string> reference{"one two three four five"};
  EXPECT_DOUBLE_EQ(Bleu().score(Bleu().statistics(reference[0], reference).amounts), 100);
}

TEST(Bleu, RefusesNoReferenceAndInvalidUtf8) {
  EXPECT_THROW(Bleu().statistics("a", {}), Error);
  const std::vector<std::string> good{"a"}, bad{"\xff"};
  EXPECT_THROW(Bleu().statistics("\xc3", good), Error);
  EXPECT_THROW(Bleu().statistics("a", bad), Error);
}

TEST(Bleu, OfNothingIsZero) { EXPECT_EQ(MetricSums(Bleu()).score(), 0); }

}  // namespace
}  // namespace sixfold
