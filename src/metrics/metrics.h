#pragma once
#include <string>
#include <vector>

#include "metrics/bleu.h"
#include "metrics/metric.h"

namespace sixfold {

/// The settings of metrics. Each metric takes those that mean something to it.
struct MetricOptions {
  BleuOptions bleu{};
  bool lowercase = false;
  std::vector<std::string>
      labels{};  ///< all that outputs and references can be, each once; for metrics of labels
};

}  // namespace sixfold
