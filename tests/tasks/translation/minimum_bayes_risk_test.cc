#include "tasks/translation/minimum_bayes_risk.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "metrics/chrf.h"

namespace sixfold {
namespace {

/// The mean chrF of a text with all as references, by weights.
double gain(const WeightedText& of, const std::vector<WeightedText>& texts) {
  double sum = 0, weights = 0;
  const Chrf chrf;
  for (const WeightedText& one : texts) {
    sum += std::exp(one.log_weight) * chrf.score(chrf.statistics(of.text, std::vector{one.text}).amounts);
    weights += std::exp(one.log_weight);
  }
  return sum / weights;
}

TEST(MinimumBayesRisk, IsTheHighestExpectedChrf) {
  const std::vector<WeightedText> texts{{"a dog runs in the park", 0},   {"a man sings", 0},
                                        {"a dog runs in a park", 0},     {"the dog runs in the park", 0},
                                        {"a dog runs in the park", 0},   {"", 0},
                                        {"two dogs run in the park", 0}, {"a man sings", 0}};
  const std::vector<size_t> order = order_by_risk(texts);
  ASSERT_EQ(order.size(), texts.size());
  EXPECT_EQ(order[0], 0u);
  EXPECT_EQ(order[1], 4u);  // the same text
  for (size_t i = 1; i < order.size(); ++i)
    EXPECT_GE(gain(texts[order[i - 1]], texts) + 1e-9, gain(texts[order[i]], texts));
  EXPECT_TRUE(order_by_risk({}).empty());
}

TEST(MinimumBayesRisk, CanBeEnded) {
  int calls = 0;
  EXPECT_THROW(order_by_risk(std::vector<WeightedText>{{"a", 0}, {"b", 0}, {"c", 0}},
                             [&] {
                               if (++calls == 5) throw Cancelled();
                             }),
               Cancelled);
  EXPECT_EQ(calls, 5);
}

TEST(MinimumBayesRisk, LikelierTextsCountMore) {
  const std::vector<WeightedText> texts{
      {"a dog runs in the park", -1000}, {"a man sings", -990}, {"a dog runs in a park", -1000}};
  EXPECT_EQ(order_by_risk(texts)[0], 1u);
  std::vector<WeightedText> equal = texts;
  for (WeightedText& one : equal) one.log_weight = -1000;
  EXPECT_NE(order_by_risk(equal)[0], 1u);
}

}  // namespace
}  // namespace sixfold
