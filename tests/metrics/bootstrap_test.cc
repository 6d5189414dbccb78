#include "metrics/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "error_message.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/metric_goldens.h"

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

/// The scores of a golden pair's system in each sample, and on the whole corpus.
template <class Metric>
std::pair<std::vector<double>, double> scores_of(const Metric& metric, const nlohmann::json& corpus,
                                                 const char* system) {
  std::vector<decltype(metric.statistics({}, {}))> sentences;
  decltype(metric.statistics({}, {})) all;
  for (size_t i = 0; i < corpus[system].size(); ++i) {
    const std::vector<std::string> reference{corpus["reference"][i]};
    sentences.push_back(metric.statistics(corpus[system][i].get<std::string>(), reference));
    all += sentences.back();
  }
  const auto score = [&](const auto& sum) {
    if constexpr (std::is_same_v<Metric, Bleu>)
      return metric.score(sum).score;
    else
      return metric.score(sum);
  };
  return {bootstrap(std::ssize(sentences), {},
                    [&](std::span<const uint32_t> drawn) {
                      decltype(all) sum;
                      for (const uint32_t i : drawn) sum += sentences[i];
                      return score(sum);
                    }),
          score(all)};
}

template <class Metric>
void expect_golden(const Metric& metric, const nlohmann::json& corpus, const nlohmann::json& golden) {
  const auto [first, first_score] = scores_of(metric, corpus, "first");
  const auto [second, second_score] = scores_of(metric, corpus, "second");
  constexpr double rounding = 2e-3;  // sacreBLEU's samples are in float32
  const auto expect_confidence = [&](const std::vector<double>& samples, const nlohmann::json& expected) {
    EXPECT_NEAR(confidence(samples).mean, expected[0].get<double>(), rounding) << corpus["name"];
    EXPECT_NEAR(confidence(samples).half_width, expected[1].get<double>(), rounding) << corpus["name"];
  };
  expect_confidence(first, golden["first"]);
  expect_confidence(second, golden["second"]);
  EXPECT_DOUBLE_EQ(paired_p_value(first, second, second_score - first_score), golden["p"].get<double>())
      << corpus["name"];
}

TEST(Bootstrap, EqualsSacreBleu) {
  for (const auto& corpus : metric_goldens()["paired"]) {
    expect_golden(Bleu(), corpus, corpus["scores"]["bleu"]);
    expect_golden(Chrf(), corpus, corpus["scores"]["chrf"]);
    expect_golden(Chrf({.word_order = 2}), corpus, corpus["scores"]["chrf++"]);
  }
}

TEST(Bootstrap, RefusesNothing) {
  EXPECT_NE(error_message([] { bootstrap(0, {}, [](auto) { return 0.0; }); }).find("0 sentences"),
            std::string::npos);
  EXPECT_NE(error_message([] { confidence({}); }).find("at least one sample"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
