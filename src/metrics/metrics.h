#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/command_metric.h"
#include "metrics/metric.h"
#include "metrics/ter.h"

namespace sixfold {

/// The settings of metrics. Each metric uses those that apply to it.
struct MetricOptions {
  bool lowercase = false;
  BleuOptions bleu{};
  ChrfOptions chrf{};
  TerOptions ter{};
  CommandMetricOptions command{};
  std::vector<std::string>
      labels{};  ///< all that outputs and references can be, each once; for metrics of labels
};

/// All settings that users choose. `lowercase` applies to all metrics.
void visit(OptionVisitor& v, MetricOptions& o);

/// How messages name a setting of this key, such as "chrf.beta": "--chrf-beta".
using SettingName = std::function<std::string(std::string_view key)>;
/// Throws an input error that names the setting if settings contradict each other, or one of them differs from
/// its default and is not a setting of any of these metrics.
void check_metric_options(const MetricOptions& options, std::span<const MetricEntry* const> rows,
                          const SettingName& named);

}  // namespace sixfold
