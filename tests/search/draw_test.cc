#include "search/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "error_message.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

const std::vector<float> logits{0.5f, 2, -1, 2, 0};

Drawn draw_of(const DrawOptions& options, double uniform, const Ids& before = {}, const Ids& banned = {},
              std::vector<float> from = logits) {
  return draw(from, options, before, banned, uniform);
}

/// The shares of tokens among many draws.
std::vector<double> shares(const DrawOptions& options, const Ids& before = {}, const Ids& banned = {}) {
  std::vector<double> counts(logits.size());
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i)
    counts[static_cast<size_t>(draw_of(options, (i + 0.5) / draws, before, banned).id)] += 1.0 / draws;
  return counts;
}

std::vector<double> softmax(std::vector<double> values) {
  double sum = 0;
  for (double& value : values) sum += value = std::exp(value);
  for (double& value : values) value /= sum;
  return values;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 2e-4) << i;
}

constexpr double none = -std::numeric_limits<double>::infinity();

TEST(Draw, FollowsTheDistribution) {
  expect_near(shares({}), softmax({0.5, 2, -1, 2, 0}));
  expect_near(shares({.temperature = 0.5f}), softmax({1, 4, -2, 4, 0}));
  expect_near(shares({.top_k = 3}), softmax({0.5, 2, none, 2, none}));
  expect_near(shares({.top_k = 1}), softmax({none, 2, none, none, none}));  // of equals the lower id
}

TEST(Draw, LimitsTheProbability) {
  // The probabilities are 0.092, 0.413, 0.021, 0.413 and 0.056.
  expect_near(shares({.top_p = 0.5f}), softmax({none, 2, none, 2, none}));
  expect_near(shares({.top_p = 0.85f}), softmax({0.5, 2, none, 2, none}));
  expect_near(shares({.top_p = 0.01f}), softmax({none, 2, none, none, none}));
  expect_near(shares({.min_p = 0.2f}), softmax({0.5, 2, none, 2, none}));
  expect_near(shares({.min_p = 0.99f}), softmax({none, 2, none, 2, none}));
}

TEST(Draw, PenalizesRepetitionAndObeysBans) {
  expect_near(shares({.repetition_penalty = 2}, {1, 2}), softmax({0.5, 1, -2, 2, 0}));
  expect_near(shares({}, {}, {1, 4}), softmax({0.5, none, -1, 2, none}));
  EXPECT_EQ(draw_of({}, 0, {}, {0, 1, 2, 3, 4}).id, all_tokens_banned);
}

TEST(Draw, IsGreedyAtTemperatureZero) {
  for (const double uniform : {0.0, 0.5, 0.999}) EXPECT_EQ(draw_of({.temperature = 0}, uniform).id, 1);
  EXPECT_EQ(draw_of({.repetition_penalty = 3, .temperature = 0}, 0, {1}).id, 3);
}

TEST(Draw, TellsTheProbabilityUnderTheModel) {
  const double expected = std::log(softmax({0.5, 2, -1, 2, 0})[1]);
  EXPECT_NEAR(draw_of({.temperature = 0}, 0).log_probability, expected, 1e-6);
  EXPECT_NEAR(draw_of({.repetition_penalty = 2, .temperature = 0.1f, .top_k = 2, .top_p = 0.5f}, 0, {3})
                  .log_probability,
              expected, 1e-6);
}

TEST(Draw, SurvivesStrangeLogits) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(draw_of({}, 0.5, {}, {}, {0, std::nanf(""), 1}).id, logits_not_finite);
  EXPECT_EQ(draw_of({}, 0.5, {}, {}, {-infinity, -infinity}).id, all_tokens_banned);
  EXPECT_EQ(draw_of({}, 0.5, {}, {0, 1}, {1, 2}).id, all_tokens_banned);
  EXPECT_EQ(draw_of({}, 0.5, {}, {}, {0, infinity, 1}).id, logits_not_finite);
  EXPECT_EQ(draw_of({.repetition_penalty = 1e-39f, .temperature = 0}, 0.5, {1}, {}, {1, 2, 1}).id, 1);
  EXPECT_EQ(draw_of({}, 1 - 0x1p-53, {}, {}, {0, -2000}).id, 0);  // no token of probability 0
  EXPECT_EQ(draw_of({}, 0.999, {}, {}, {1, -infinity}).id, 0);
  EXPECT_EQ(draw_of({.temperature = 1e-30f}, 0.7, {}, {}, {1, 2, 1}).id, 1);
  RandomStream random(1, 2);
  for (int i = 0; i < 1000; ++i) {
    std::vector<float> some(7);
    for (float& logit : some) logit = static_cast<float>(100 * random.normal());
    const Drawn drawn =
        draw_of({.temperature = 5, .top_p = 0.9f, .min_p = 0.01f}, random.uniform(), {}, {}, some);
    EXPECT_TRUE(drawn.id >= 0 && drawn.id < 7);
    EXPECT_LE(drawn.log_probability, 1e-6);
  }
}

TEST(Draw, RefusesImpossibleOptions) {
  const auto refuse = [](const DrawOptions& options, const char* part) {
    EXPECT_NE(error_message([&] { check_ranges(options); }).find(part), std::string::npos) << part;
  };
  refuse({.repetition_penalty = 0}, "repetition_penalty: expected a number");
  refuse({.temperature = -1}, "temperature: expected a number");
  refuse({.temperature = std::nanf("")}, "temperature: expected a number");
  refuse({.top_k = -1}, "top_k: expected a whole number at least 0");
  refuse({.top_p = 0}, "top_p: expected a number");
  refuse({.top_p = 1.5f}, "top_p: expected a number");
  refuse({.min_p = 1}, "min_p: expected a number");
  EXPECT_NO_THROW(check_ranges(DrawOptions()));
}

}  // namespace
}  // namespace sixfold
