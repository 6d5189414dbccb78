#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/api.h"
#include "metrics/bootstrap.h"
#include "metrics/metrics.h"

namespace sixfold {

/// The references of some outputs: `references[k][i]` is the k-th reference of output i.
using References = std::vector<std::vector<std::string>>;

/// The score of one system.
struct SystemScore {
  double score = 0;
  std::string details{};          ///< `Metric::details`
  std::vector<double> samples{};  ///< the scores of the bootstrap's samples; empty without resampling
};

/// Scores the outputs of a system, of which there must be at least one, and, if options are given, samples of
/// them. Throws an input error if there is none, or if there is not a reference for each. Takes time in
/// proportion to the number of outputs and the number of samples. Throws as `Metric::statistics` and
/// `bootstrap`.
SIXFOLD_API SystemScore score_system(const Metric& metric, std::span<const std::string> outputs,
                                     const References& references,
                                     const std::optional<BootstrapOptions>& resampling = {});

/// The difference of two systems' scores.
struct SystemDifference {
  double difference = 0;      ///< of the second to the first
  double p_value = 0;         ///< `paired_p_value`
  bool same_samples = false;  ///< Both score the same in every sample, so that the p-value has no meaning.
};

/// Compares two systems that were scored on the same samples.
SIXFOLD_API SystemDifference compare_systems(const SystemScore& first, const SystemScore& second);

/// The signature of a score in sacreBLEU's format, such as
/// `nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:sixfold-V`. The version is this
/// program's. `references`: their number for each output.
SIXFOLD_API std::string signature_of(const Metric& metric, size_t references,
                                     const std::optional<BootstrapOptions>& resampling = {});

}  // namespace sixfold
