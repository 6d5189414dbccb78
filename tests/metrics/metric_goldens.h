#pragma once
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "metrics/evaluation.h"

namespace sixfold {

/// What sacreBLEU computed (tests/goldens/make_metric_goldens.py).
inline const nlohmann::json& metric_goldens() {
  static const nlohmann::json goldens =
      nlohmann::json::parse(std::ifstream(SIXFOLD_TEST_GOLDENS "/metrics.json"));
  return goldens;
}

/// The sums of a golden corpus.
inline MetricSums corpus_sums(const Metric& metric, const nlohmann::json& corpus) {
  MetricSums sums(metric);
  for (size_t i = 0; i < corpus["hypotheses"].size(); ++i) {
    std::vector<std::string> references;
    for (const auto& stream : corpus["references"]) references.push_back(stream[i].get<std::string>());
    sums.add(corpus["hypotheses"][i].get<std::string>(), references);
  }
  return sums;
}

/// The signature as in the goldens, whose version is "V".
inline std::string signature_with_v(const Metric& metric, size_t references,
                                    const std::optional<BootstrapOptions>& resampling = {}) {
  const std::string signature = signature_of(metric, references, resampling);
  return signature.substr(0, signature.find("sixfold-")) + "V";
}

}  // namespace sixfold
