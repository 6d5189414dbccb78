#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/api.h"
#include "metrics/bootstrap.h"
#include "metrics/metrics.h"
#include "metrics/significance.h"

namespace sixfold {

/// The score of one system.
struct SystemScore {
  double score = 0;
  std::string details{};          ///< `Metric::details`
  std::vector<double> samples{};  ///< the scores of the bootstrap's samples; empty without resampling
  std::vector<MetricStatistics> statistics{};  ///< of each output; empty without resampling
};

/// Scores the outputs of a system and, if `resampling` is given, samples of them. `sources` are the sources of
/// the outputs, for metrics that read them; empty: they are not known. Takes time in proportion to the number
/// of outputs and the number of samples. Throws an input error if there are no outputs, or if there is not a
/// reference for each, and as `Metric::statistics` and `bootstrap`.
SIXFOLD_API SystemScore score_system(const Metric& metric, std::span<const std::string> outputs,
                                     const References& references,
                                     const std::optional<BootstrapOptions>& resampling = {},
                                     std::span<const std::string> sources = {});

/// The difference of two systems, each of which has one run or several, such as trainings with different seeds.
struct SystemDifference {
  double difference = 0;  ///< the mean score of the second system less that of the first
  /// `randomization_p_value` of the mean scores: whether other sentences would show a difference too. Systems
  /// with different numbers of runs are compared by as many as both have.
  double sentences_p = 0;
  /// `welch_p_value` of the scores: whether other runs would show a difference too. None if there are too few.
  std::optional<double> runs_p{};
  /// `paired_p_value` of the mean scores, as sacreBLEU computes it. It is too small for too many pairs of equal
  /// systems (docs/variants.md), for a single sentence, and for systems that score the same in every sample.
  double bootstrap_p = 0;

  /// The p-value of the claim that the systems differ: `sentences_p`, or, with several runs, the larger one,
  /// since the difference has to be found among the sentences and among the runs (Berger 1982, "Multiparameter
  /// Hypothesis Testing and Acceptance Sampling"). None if a system has several runs, and there is no `runs_p`.
  std::optional<double> p_value{};
};

/// Compares two systems, each of which has at least one run. All runs were scored by this metric with the same
/// resampling. Takes time in proportion to the number of outputs, runs and trials.
SIXFOLD_API SystemDifference compare_systems(const Metric& metric, std::span<const SystemScore> first,
                                             std::span<const SystemScore> second,
                                             const RandomizationOptions& options = {});

/// The scores of a system's runs.
SIXFOLD_API std::vector<double> scores_of(std::span<const SystemScore> runs);
/// The means of the samples of a system's runs.
SIXFOLD_API std::vector<double> mean_samples(std::span<const SystemScore> runs);

/// The signature of a score in sacreBLEU's format, such as
/// `nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:sixfold-V`. The version is this
/// program's. `references`: their number for each output.
SIXFOLD_API std::string signature_of(const Metric& metric, size_t references,
                                     const std::optional<BootstrapOptions>& resampling = {});

}  // namespace sixfold
