#pragma once
#include <atomic>
#include <string>

#include "base/options.h"
#include "metrics/metric.h"

namespace sixfold {

struct CommandMetricOptions {
  std::string command{};                   // of /bin/sh
  double timeout = 3600;                   // seconds
  const std::atomic<int>* stop = nullptr;  // when it becomes nonzero, the program is ended with `Cancelled`
};

/// The fields `metric_command` and `metric_timeout`.
void visit(OptionVisitor& v, CommandMetricOptions& o);

/// A metric that an external program computes. It gets the lines as JSON on standard input, one object for
/// each:
///
///   {"source": "Ein Hund.", "output": "A dog.", "references": ["A dog.", "One dog."]}
///
/// `source` is left out if it is not known. The program prints a number for each line, in order, of which the
/// score is the mean; or a single number, which is the score of all lines together. Higher is better.
class CommandMetric : public Metric {
 public:
  /// Throws an input error if there is no command.
  explicit CommandMetric(CommandMetricOptions options);

  size_t size() const override { return 1; }
  /// Runs the program for a single line.
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  /// Runs the program once. If it prints a single number for several lines, each counts with it. Throws an
  /// environment error that names the command if it fails, an input error if it prints something else, or a
  /// single number where each line needs one, and `Cancelled`.
  void for_each_statistics(const MetricLines& lines,
                           const std::function<void(MetricStatistics)>& use) const override;
  double score(std::span<const double> sums, int64_t outputs) const override {
    return outputs == 0 ? 0 : sums[0] / static_cast<double>(outputs);
  }

 private:
  CommandMetricOptions options_;
};

}  // namespace sixfold
