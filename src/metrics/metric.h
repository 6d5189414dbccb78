#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/api.h"

namespace sixfold {

/// The kind of the outputs and references of a metric: whole lines of text, labels, or answers to questions.
enum class LineContent { text, label, answer };

/// The amounts that one output adds to the sums from which a metric is computed.
struct MetricStatistics {
  std::vector<double> amounts;
  std::vector<uint32_t> places = {};  ///< the number of the sum for each amount; empty: 0, 1, 2, ...
};

/// The references of some outputs: `references[k][i]` is the k-th reference of output i.
using References = std::vector<std::vector<std::string>>;

/// The lines that a metric compares.
struct MetricLines {
  std::span<const std::string> outputs;
  const References& references;
  std::span<const std::string> sources = {};  ///< of the outputs; empty: not known
  bool each = false;  ///< whether scores of single lines or of samples of lines are needed too
};

/// A metric with its settings. Any number of threads may use one object at once.
class SIXFOLD_API Metric {
 public:
  virtual ~Metric() = default;

  /// The number of sums.
  virtual size_t size() const = 0;
  /// The statistics of one output and its references, of which there must be at least one. The statistics of a
  /// corpus are the sums of those of its outputs, whichever process computes them. Throws an input error for
  /// invalid UTF-8.
  virtual MetricStatistics statistics(std::string_view output,
                                      std::span<const std::string> references) const = 0;
  /// Calls `use` with the statistics of each output, in order. By default it is `statistics`. Throws an input
  /// error if there is not a reference for each.
  virtual void for_each_statistics(const MetricLines& lines,
                                   const std::function<void(MetricStatistics)>& use) const;
  /// The score of `outputs` outputs with these sums. The score of no outputs is a finite number.
  virtual double score(std::span<const double> sums, int64_t outputs) const = 0;
  /// The name in sacreBLEU's reports, such as "chrF2++"; empty: the metric is not one of sacreBLEU's.
  virtual std::string name() const { return {}; }
  /// Details that a report prints after the score, such as the precisions of BLEU.
  virtual std::string details(std::span<const double> /*sums*/) const { return {}; }
  /// The settings of the score in sacreBLEU's format: "case:mixed|eff:no|tok:13a|smooth:exp".
  virtual std::string settings() const { return {}; }
};

/// The sums of a metric over outputs.
class SIXFOLD_API MetricSums {
 public:
  explicit MetricSums(const Metric& metric) : metric_(&metric), sums_(metric.size()) {}

  void add(const MetricStatistics& statistics);
  void add(std::string_view output, std::span<const std::string> references) {
    add(metric_->statistics(output, references));
  }
  /// Adds the sums of other outputs.
  MetricSums& operator+=(const MetricSums& other);
  std::span<const double> sums() const { return sums_; }
  double score() const { return metric_->score(sums_, outputs_); }
  std::string details() const { return metric_->details(sums_); }

 private:
  const Metric* metric_;
  std::vector<double> sums_;
  int64_t outputs_ = 0;
};

struct MetricOptions;

/// A row of the table of metrics.
struct MetricEntry {
  std::string_view name;         ///< as options and logs have it: "chrf"
  std::string_view title;        ///< as tables and charts have it: "chrF2"
  std::string_view explanation;  ///< a few words, for help and documentation
  LineContent content = LineContent::text;
  /// Why case can't be ignored: "labels are compared as they are". Empty: it can.
  std::string_view fixed_case = {};
  /// Whether a single unknown character in a reference makes the whole line wrong.
  bool compares_whole_lines = false;
  /// Whether `Metric::for_each_statistics` computes all lines together instead of calling `statistics` for
  /// each.
  bool scores_all_at_once = false;
  std::string_view settings = {};  ///< the beginning of the keys of its settings: "chrf."
  bool higher_is_better = true;
  std::unique_ptr<Metric> (*create)(const MetricOptions& options) = nullptr;
};
using MetricTable = std::span<const MetricEntry>;

/// All metrics, in the order in which help, tables and charts have them. `evaluate`, validation, sweeps, plots,
/// the dashboard and the documentation name these. To add a metric, add a row in metrics.cc.
SIXFOLD_API MetricTable metric_table();

/// The row of this name; null if there is none.
SIXFOLD_API const MetricEntry* find_metric(MetricTable table, std::string_view name);
/// The row of a metric that is known to be in `metric_table`. Throws an input error if it is not.
SIXFOLD_API const MetricEntry& metric_named(std::string_view name);
/// The names of the rows for one kind of outputs, in their order.
SIXFOLD_API std::vector<std::string> metric_names(MetricTable table, LineContent content);

/// The score of one output alone. Throws as `Metric::statistics`.
SIXFOLD_API double score_of_output(const Metric& metric, std::string_view output,
                                   std::span<const std::string> references);

}  // namespace sixfold
