#include "metrics/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "error_message.h"
#include "metrics/metric_goldens.h"
#include "metrics/metrics.h"

namespace sixfold {
namespace {

/// The mean of n numbers of deviation 1 has deviation 1 / sqrt(n), and 95 % of a normal distribution lie
/// within 1.96.
TEST(Bootstrap, FindsTheIntervalOfAMean) {
  constexpr int64_t n = 400;
  RandomStream random(3, 0);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(random.normal());
  const auto mean_of = [&](std::span<const uint32_t> drawn) {
    double sum = 0;
    for (const uint32_t i : drawn) sum += values[i];
    return sum / static_cast<double>(drawn.size());
  };
  const auto samples = bootstrap(n, {.samples = 4000, .seed = 1}, mean_of);
  ASSERT_EQ(samples.size(), 4000u);
  const Confidence found = confidence(samples);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  EXPECT_NEAR(found.mean, mean, 0.005);
  EXPECT_NEAR(found.half_width, 1.96 / std::sqrt(n), 0.01);
  EXPECT_EQ(samples, bootstrap(n, {.samples = 4000, .seed = 1}, mean_of));
  EXPECT_NE(samples, bootstrap(n, {.samples = 4000, .seed = 2}, mean_of));
}

TEST(Bootstrap, PairsTellDifferencesFromChance) {
  constexpr int64_t n = 300;
  RandomStream random(5, 0);
  std::vector<double> a, better, same;
  for (int64_t i = 0; i < n; ++i) {
    a.push_back(random.normal());
    better.push_back(a.back() + 0.2 + 0.3 * random.normal());
    same.push_back(a.back() + 0.3 * random.normal());
  }
  const auto samples = [&](const std::vector<double>& values) {
    return bootstrap(n, {}, [&](std::span<const uint32_t> drawn) {
      double sum = 0;
      for (const uint32_t i : drawn) sum += values[i] / n;
      return sum;
    });
  };
  const auto mean = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / n; };
  EXPECT_LT(paired_p_value(samples(a), samples(better), mean(better) - mean(a)), 0.005);
  EXPECT_GT(paired_p_value(samples(a), samples(same), mean(same) - mean(a)), 0.05);
}

void expect_golden(const MetricEntry& row, const nlohmann::json& corpus, const nlohmann::json& golden) {
  const auto metric = row.create({});
  const References references{corpus["reference"].get<std::vector<std::string>>()};
  const auto scores_of = [&](const char* system) {
    return score_system(*metric, corpus[system].get<std::vector<std::string>>(), references,
                        BootstrapOptions());
  };
  const SystemScore first = scores_of("first"), second = scores_of("second");
  constexpr double rounding = 2e-3;  // sacreBLEU's samples are in float32
  const auto expect_confidence = [&](const std::vector<double>& samples, const nlohmann::json& expected) {
    EXPECT_NEAR(confidence(samples).mean, expected[0].get<double>(), rounding) << corpus["name"];
    EXPECT_NEAR(confidence(samples).half_width, expected[1].get<double>(), rounding) << corpus["name"];
  };
  expect_confidence(first.samples, golden["first"]);
  expect_confidence(second.samples, golden["second"]);
  EXPECT_DOUBLE_EQ(paired_p_value(first.samples, second.samples, second.score - first.score),
                   golden["p"].get<double>())
      << corpus["name"];
  EXPECT_EQ(signature_with_v(*metric, 1, BootstrapOptions()), golden["signature"]);
}

TEST(Bootstrap, EqualsSacreBleu) {
  for (const auto& corpus : metric_goldens()["paired"])
    for (const char* name : {"bleu", "chrf", "chrf++"})
      expect_golden(metric_named(name), corpus, corpus["scores"][name]);
}

TEST(Bootstrap, RefusesNothing) {
  EXPECT_NE(error_message([] { bootstrap(0, {}, [](auto) { return 0.0; }); }).find("0 sentences"),
            std::string::npos);
  EXPECT_NE(error_message([] { confidence({}); }).find("at least one sample"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
