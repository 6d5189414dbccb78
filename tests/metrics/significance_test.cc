#include "metrics/significance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "error_message.h"
#include "metrics/evaluation.h"
#include "metrics/metric_goldens.h"
#include "metrics/toy_metric.h"

namespace sixfold {
namespace {

using Numbers = std::vector<double>;

/// t = (mean(a) - mean(b)) / sqrt(s_a^2 / n_a + s_b^2 / n_b), and p from Student's distribution with the
/// degrees of freedom of Welch and Satterthwaite. The numbers are those of scipy.stats.ttest_ind(a, b,
/// equal_var=False), SciPy 1.17.
TEST(Welch, EqualsSciPy) {
  const struct {
    Numbers a, b;
    double p;
  } cases[] = {{{31.2, 30.8, 31.5}, {30.1, 29.9, 30.4}, 0.017544375417262028},
               {{31.2, 30.8, 31.5}, {31.0, 31.6, 30.2}, 0.642968784816309},
               {{1, 2, 3}, {1, 1, 1}, 0.22540333075851665},
               {{10.1, 10.2, 10.15, 9.9, 10.05}, {12, 8, 11, 9.5}, 0.9622612772812735},
               {{1e6, 1e6 + 1, 1e6 + 2}, {-5, -6, -7}, 2.6665920012947956e-24},
               {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1.5, 2.5, 3.5}, 0.022090875540668835},
               {{1, 2, 3}, {1, 2, 3}, 1.0}};
  for (const auto& c : cases) {
    const auto p = welch_p_value(c.a, c.b), turned = welch_p_value(c.b, c.a);
    ASSERT_TRUE(p.has_value());
    EXPECT_NEAR(*p / c.p, 1, 1e-10);
    EXPECT_NEAR(*turned / c.p, 1, 1e-10);
  }
}

/// Student's distribution has a closed form for 2 degrees of freedom: p = 1 - |t| / sqrt(2 + t^2). These are
/// the degrees of freedom of a sample of 3 numbers if the other sample has no variance.
TEST(Welch, HasTheClosedFormOfTwoDegreesOfFreedom) {
  for (const double shift : {0.0, 0.1, 1.0, 5.0, 1000.0}) {
    const double t = shift / std::sqrt(1.0 / 3);  // 0, 1, 2 have variance 1
    EXPECT_NEAR(*welch_p_value(Numbers{0, 1, 2}, Numbers(4, 1 + shift)), 1 - t / std::sqrt(2 + t * t), 1e-12);
  }
}

TEST(Welch, ConcludesNothingFromTooLittle) {
  EXPECT_FALSE(welch_p_value(Numbers{1, 2}, Numbers{5, 6, 7}));
  EXPECT_FALSE(welch_p_value(Numbers{5, 6, 7}, Numbers{1, 2}));
  EXPECT_FALSE(welch_p_value(Numbers{}, Numbers{}));
  EXPECT_FALSE(welch_p_value(Numbers(3, 0.1), Numbers(3, 0.7))) << "no spread: the seeds made no difference";
  EXPECT_FALSE(deviation_of(Numbers{1}));
  EXPECT_EQ(deviation_of(Numbers(3, 0.1)), 0.0);
  EXPECT_EQ(mean_of(Numbers(3, 0.1)), 0.1) << "without a rounding error, which would look like a difference";
  EXPECT_DOUBLE_EQ(*deviation_of(Numbers{2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
}

/// Of samples that do not differ, the test finds a difference in at most one of 20 (here 3 runs each).
TEST(Welch, RarelyFindsWhatIsNotThere) {
  RandomStream random(11, 0);
  int found = 0;
  constexpr int experiments = 4000;
  for (int i = 0; i < experiments; ++i) {
    Numbers a, b;
    for (int k = 0; k < 3; ++k) {
      a.push_back(random.normal());
      b.push_back(3 * random.normal());
    }
    if (*welch_p_value(a, b) < significance_level) ++found;
  }
  EXPECT_LT(found, experiments * 0.06);
  EXPECT_GT(found, experiments * 0.02);
}

/// Holm's: the smallest of m p-values is multiplied by m, the next by m - 1, and none is below the one before.
TEST(Holm, MultipliesByTheComparisonsThatAreLeft) {
  using P = std::vector<std::optional<double>>;
  const auto expect = [](const P& p, const P& expected) {
    const auto adjusted = holm_adjusted(p);
    ASSERT_EQ(adjusted.size(), expected.size());
    for (size_t i = 0; i < p.size(); ++i) {
      ASSERT_EQ(adjusted[i].has_value(), expected[i].has_value());
      EXPECT_NEAR(adjusted[i].value_or(0), expected[i].value_or(0), 1e-12);
    }
  };
  expect({0.01, 0.04, 0.03, 0.005}, {0.03, 0.06, 0.06, 0.02});  // R: p.adjust(..., "holm")
  expect({0.5, 0.6}, {1.0, 1.0});
  expect({0.01}, {0.01});
  expect({std::nullopt, 0.01, std::nullopt}, {std::nullopt, 0.03, std::nullopt});
  expect({}, {});
}

/// All 2^n ways of swapping n sentences give the exact p-value. With 3 sentences that all favour a system, only
/// the swaps of none and of all have a difference as large: p = 2 / 8.
TEST(Randomization, ApproachesTheExactTest) {
  const Numbers differences{1, 2, 4};
  const auto p = randomization_p_value(3, {.trials = 20000}, [&](const std::vector<bool>& swapped) {
    double sum = 0;
    for (size_t i = 0; i < 3; ++i) sum += swapped[i] ? -differences[i] : differences[i];
    return sum;
  });
  EXPECT_NEAR(p, 0.25, 0.01);
  EXPECT_NE(error_message([] { randomization_p_value(1, {.trials = 0}, [](const auto&) { return 0.0; }); }),
            "");
}

SystemScore golden_score(const Metric& metric, const nlohmann::json& corpus, const char* system) {
  return score_system(metric, corpus[system].get<std::vector<std::string>>(),
                      {corpus["reference"].get<std::vector<std::string>>()}, BootstrapOptions());
}

/// sacreBLEU's p-value, in which trials with an equal difference count too.
TEST(Randomization, EqualsSacreBleu) {
  for (const auto& corpus : metric_goldens()["paired"])
    for (const char* name : {"bleu", "chrf", "chrf++"}) {
      const auto metric = metric_named(name).create({});
      const SystemScore first = golden_score(*metric, corpus, "first"),
                        second = golden_score(*metric, corpus, "second");
      const auto& golden = corpus["scores"][name];
      const SystemDifference found = compare_systems(*metric, {&first, 1}, {&second, 1}, {.trials = 2000});
      EXPECT_DOUBLE_EQ(found.sentences_p, golden["randomization"][1].get<double>()) << corpus["name"] << name;
      EXPECT_GE(found.sentences_p, golden["randomization"][0].get<double>());
      EXPECT_EQ(found.p_value, found.sentences_p);
    }
}

/// The toy metric is a mean, so that scores can be written down.
class Runs : public testing::Test {
 protected:
  /// A run whose output i is `length(i)` letters too long.
  template <class Length>
  SystemScore run(size_t outputs, const Length& length) {
    std::vector<std::string> texts, references;
    for (size_t i = 0; i < outputs; ++i) {
      references.emplace_back("abc");
      texts.emplace_back(3 + length(i), 'x');
    }
    return score_system(metric_, texts, {references}, BootstrapOptions{.samples = 200});
  }

  LengthError metric_;
};

TEST_F(Runs, DifferencesHaveToBeFoundAmongSentencesAndRuns) {
  std::vector<SystemScore> low, high, wild;
  for (size_t k = 0; k < 3; ++k) {
    low.push_back(run(100, [&](size_t i) { return i % 7 + (i < 10 * k); }));
    high.push_back(run(100, [&](size_t i) { return 1 + i % 7 + (i < 10 * k); }));
    wild.push_back(run(100, [&](size_t i) { return 3 * k + i % 7; }));
  }
  const SystemDifference found = compare_systems(metric_, low, high, {.trials = 500});
  EXPECT_NEAR(found.difference, 1, 1e-9);
  EXPECT_LT(found.sentences_p, 0.01);
  EXPECT_NEAR(*found.runs_p, *welch_p_value(scores_of(low), scores_of(high)), 1e-12);
  EXPECT_EQ(found.p_value, std::max(found.sentences_p, *found.runs_p));
  EXPECT_LT(*found.p_value, 0.05);
  // Every sentence shows it, but the runs of the other system are far apart.
  const SystemDifference chance = compare_systems(metric_, low, wild, {.trials = 500});
  EXPECT_LT(chance.sentences_p, 0.01);
  EXPECT_GT(*chance.p_value, 0.1);
  // Two runs say nothing of the runs, and one run with several nothing either.
  EXPECT_FALSE(compare_systems(metric_, {low.data(), 2}, {high.data(), 2}, {.trials = 10}).p_value);
  EXPECT_FALSE(compare_systems(metric_, {low.data(), 1}, high, {.trials = 10}).p_value);
}

TEST_F(Runs, AreAveragedInSamples) {
  const std::vector<SystemScore> runs{run(50, [](size_t i) { return i % 2; }),
                                      run(50, [](size_t i) { return i % 3; })};
  const auto means = mean_samples(runs);
  ASSERT_EQ(means.size(), 200u);
  for (size_t i = 0; i < means.size(); ++i)
    EXPECT_DOUBLE_EQ(means[i], (runs[0].samples[i] + runs[1].samples[i]) / 2);
}

TEST_F(Runs, ASingleOutputOrEqualOnesCarryNothing) {
  const SystemScore one = run(1, [](size_t) { return 0; }), other = run(1, [](size_t) { return 5; });
  EXPECT_EQ(compare_systems(metric_, {&one, 1}, {&other, 1}).p_value, 1.0);
  const SystemScore same = run(80, [](size_t i) { return i % 5; });
  EXPECT_EQ(compare_systems(metric_, {&same, 1}, {&same, 1}).p_value, 1.0);
}

}  // namespace
}  // namespace sixfold
