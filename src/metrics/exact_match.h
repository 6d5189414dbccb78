#pragma once
#include <algorithm>

#include "metrics/metric.h"

namespace sixfold {

/// The percentage of outputs that equal a reference, byte by byte. Without outputs it is 0.
class ExactMatch : public Metric {
 public:
  size_t size() const override { return 1; }
  /// An output without references has no equal.
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override {
    return {{std::ranges::find(references, output) == references.end() ? 0.0 : 1.0}};
  }
  double score(std::span<const double> sums, int64_t outputs) const override {
    return outputs == 0 ? 0 : 100 * sums[0] / static_cast<double>(outputs);
  }
};

}  // namespace sixfold
