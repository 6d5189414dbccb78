#pragma once
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sixfold {

/// What sacreBLEU computed (tests/goldens/make_metric_goldens.py).
inline const nlohmann::json& metric_goldens() {
  static const nlohmann::json goldens =
      nlohmann::json::parse(std::ifstream(SIXFOLD_TEST_GOLDENS "/metrics.json"));
  return goldens;
}

/// The statistics of a golden corpus: the sum of its sentences'.
template <class Metric>
auto corpus_statistics(const Metric& metric, const nlohmann::json& corpus) {
  decltype(metric.statistics({}, {})) sum;
  for (size_t i = 0; i < corpus["hypotheses"].size(); ++i) {
    std::vector<std::string> references;
    for (const auto& stream : corpus["references"]) references.push_back(stream[i].get<std::string>());
    sum += metric.statistics(corpus["hypotheses"][i].get<std::string>(), references);
  }
  return sum;
}

}  // namespace sixfold
