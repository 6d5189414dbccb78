#pragma once
#include <cstdlib>
#include <vector>

#include "metrics/metric.h"

namespace sixfold {

/// A metric that the library does not have: the mean difference in bytes between outputs and their first
/// references. Less is better.
class LengthError : public Metric {
 public:
  size_t size() const override { return 1; }
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override {
    return {{std::abs(static_cast<double>(output.size()) - static_cast<double>(references[0].size()))}};
  }
  double score(std::span<const double> sums, int64_t outputs) const override {
    return outputs > 0 ? sums[0] / static_cast<double>(outputs) : 0;
  }
};

/// The table of the library with one more row.
inline std::vector<MetricEntry> table_with_length_error() {
  std::vector<MetricEntry> rows(metric_table().begin(), metric_table().end());
  rows.push_back({.name = "length_error",
                  .title = "length error",
                  .explanation = "mean difference in length",
                  .higher_is_better = false,
                  .create = [](const MetricOptions&) -> std::unique_ptr<Metric> {
                    return std::make_unique<LengthError>();
                  }});
  return rows;
}

}  // namespace sixfold
