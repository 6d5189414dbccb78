#include "metrics/chrf.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "metrics/metric_goldens.h"

namespace sixfold {
namespace {

/// sacreBLEU's arguments as our options.
ChrfOptions chrf_options(const nlohmann::json& setting) {
  return {.char_order = setting.value("char_order", 6),
          .word_order = setting.value("word_order", 0),
          .beta = setting.value("beta", 2),
          .whitespace = setting.value("whitespace", false),
          .eps_smoothing = setting.value("eps_smoothing", false),
          .lowercase = setting.value("lowercase", false)};
}

TEST(Chrf, EqualsSacreBleu) {
  const auto& settings = metric_goldens()["chrf"];
  for (const auto& corpus : metric_goldens()["corpora"]) {
    for (size_t i = 0; i < settings.size(); ++i) {
      const Chrf chrf(chrf_options(settings[i][0]));
      EXPECT_EQ(fmt::format("{:.6f}", corpus_sums(chrf, corpus).score()), corpus["chrf"][i + 1])
          << corpus["name"] << settings[i];
    }
  }
}

TEST(Chrf, PrintsTheLineOfSacreBleu) {
  for (const auto& corpus : metric_goldens()["corpora"]) {
    const Chrf chrf;
    EXPECT_EQ(fmt::format("{}|{} = {:.1f}", chrf.name(), signature_with_v(chrf, corpus["references"].size()),
                          corpus_sums(chrf, corpus).score()),
              corpus["chrf"][0]);
  }
}

TEST(Chrf, SignatureEqualsSacreBleu) {
  for (const auto& item : metric_goldens()["chrf"])
    EXPECT_EQ(signature_with_v(Chrf(chrf_options(item[0])), 2), item[1]);
}

TEST(Chrf, IgnoresWhiteSpace) {
  const std::vector<std::string> reference{"a bc d"};
  EXPECT_DOUBLE_EQ(Chrf().score(Chrf().statistics("ab\u3000cd", reference).amounts), 100);
}

TEST(Chrf, TakesTheBestReference) {
  const std::vector<std::string> references{"unlike", "the same", "also other"};
  EXPECT_DOUBLE_EQ(Chrf().score(Chrf().statistics("the same", references).amounts), 100);
}

TEST(Chrf, RefusesWhatItCannotCount) {
  EXPECT_THROW(Chrf({.word_order = 21}), Error);
  EXPECT_THROW(Chrf({.char_order = 0}), Error);
  EXPECT_THROW(Chrf({.word_order = -1}), Error);
  EXPECT_THROW(Chrf().statistics("a", {}), Error);
  const std::vector<std::string> good{"a"};
  EXPECT_THROW(Chrf().statistics("\xe2\x82", good), Error);
}

TEST(Chrf, OfNothingIsZero) { EXPECT_EQ(MetricSums(Chrf()).score(), 0); }

}  // namespace
}  // namespace sixfold
