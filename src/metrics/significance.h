#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/api.h"

// What a comparison of systems, or of trainings, can claim (docs/variants.md, "Whether rows differ").

namespace sixfold {

/// A difference is significant if its p-value, adjusted for the number of comparisons, is below this.
inline constexpr double significance_level = 0.05;
/// The minimum number of runs of each system from which `welch_p_value` draws a conclusion.
inline constexpr size_t min_compared_runs = 3;

/// The mean of numbers, of which there is at least one.
SIXFOLD_API double mean_of(std::span<const double> values);
/// The standard deviation of a population from which the numbers are a sample (the sum of squares is divided by
/// n - 1); none for fewer than two numbers.
SIXFOLD_API std::optional<double> deviation_of(std::span<const double> values);

/// The two-sided p-value of Welch's t-test: how probable a difference of the means as large as this is if both
/// samples come from normal distributions with the same mean, whose variances may differ (Welch 1947, "The
/// Generalization of 'Student's' Problem when Several Different Population Variances are Involved"). Equals
/// SciPy's `ttest_ind(a, b, equal_var=False)`. None if the samples can't carry a conclusion: if one has fewer
/// than `min_compared_runs` numbers, or if the numbers of each are all the same.
SIXFOLD_API std::optional<double> welch_p_value(std::span<const double> a, std::span<const double> b);

struct RandomizationOptions {
  int trials = 10000;
  uint64_t seed = 12345;
};

/// The two-sided p-value of paired approximate randomization (Noreen 1989, "Computer-Intensive Methods for
/// Testing Hypotheses"; Riezler and Maxwell 2005, "On Some Pitfalls in Automatic Evaluation and Significance
/// Testing for MT"): how often two systems differ as much as they do, or more, when a coin decides for each
/// sentence whether they swap their outputs. `difference` gets whether each of the sentences is swapped, and
/// returns the difference of the systems. The same seed throws the same coins, those of sacreBLEU's
/// --paired-ar; sacreBLEU does not count trials in which the difference is the same. Throws an input error
/// without trials.
SIXFOLD_API double randomization_p_value(
    size_t sentences, const RandomizationOptions& options,
    const std::function<double(const std::vector<bool>& swapped)>& difference);

/// Adjusts the p-values of several comparisons, so that the probability of finding any difference where there
/// is none is at most the significance level (Holm 1979, "A Simple Sequentially Rejective Multiple Test
/// Procedure"). A comparison without a p-value keeps none, and counts as one that was made.
SIXFOLD_API std::vector<std::optional<double>> holm_adjusted(std::vector<std::optional<double>> p_values);

}  // namespace sixfold
