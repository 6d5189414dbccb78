#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "metrics/metrics.h"
#include "text/tokenizer.h"
#include "train/config.h"
#include "train/task.h"

namespace sixfold {

/// The metrics of a validation, and their sums over the outputs so far.
class ValidationScores {
 public:
  /// `names`: names of metrics in the table.
  ValidationScores(MetricTable table, const std::vector<std::string>& names, const MetricOptions& options);

  /// Adds an output. If the references are not exact, such as those with unknown tokens, metrics that compare
  /// whole lines count the output as different. `source`: the source, for metrics that read it; null if it is
  /// no text.
  void add(std::string_view output, std::span<const std::string> references, bool exact_references = true,
           const std::string* source = nullptr);
  /// Returns the statistics of an output, `size()` numbers, which another process may add by `add`.
  std::vector<double> numbers_of(std::string_view output, std::span<const std::string> references) const;
  void add(std::span<const double> numbers);
  size_t size() const;
  /// Collective. The metrics that score all outputs at once are computed by the root process.
  Scores scores(Processes& processes = Processes::one()) const;

 private:
  struct Row {
    const MetricEntry* entry;
    std::unique_ptr<Metric> metric;
    MetricSums sums;
  };
  bool keeps_texts() const;

  std::vector<Row> rows_;
  // The outputs, for metrics that score all of them at once.
  std::vector<std::string> outputs_, sources_;
  References references_;
};

/// Validation with the metrics of a table that apply to the outputs of a task.
struct MetricValidationOptions : ValidationOptions {
  MetricValidationOptions(LineContent content, std::string best_by, MetricTable table);

  MetricTable table;
  std::vector<std::string> names;  ///< of the metrics that can be computed
  ChosenName best_by;
};

void visit(OptionVisitor& v, MetricValidationOptions& o);
inline std::string best_metric(const MetricValidationOptions& o) { return o.best_by.name; }

/// Validation of a task that generates text. Decoding the outputs for metrics takes most of the time.
struct TextValidationOptions : MetricValidationOptions {
  /// `standard`: metrics that are reported whenever any metric of the table is computed. `chosen`: the default
  /// of `metrics`.
  TextValidationOptions(std::vector<std::string> standard, std::vector<std::string> chosen, MetricTable table);

  std::vector<std::string> standard;
  ChosenNames metrics;
  MetricOptions options;
  int beam_size = 1;

  /// Whether a metric needs outputs of the model.
  bool generates() const;
  /// Returns the metrics that validation computes from outputs. `tokenizer`: that of the references.
  ValidationScores scores(const Tokenizer& tokenizer) const;
  /// Runs the program of `metric_command`, if it is set, with references of the validation text as outputs, so
  /// that its errors are found before training begins. Throws as the metric does, and `Cancelled` when `stop`
  /// becomes nonzero.
  void try_program(const std::vector<std::string>& references, const std::vector<std::string>& sources,
                   const std::atomic<int>* stop) const;
};

/// Visits all fields. `outputs`: the outputs that metrics need, in descriptions, such as "translations".
void visit_text_validation(OptionVisitor& v, TextValidationOptions& o, std::string_view outputs);

/// Throws an input error if `best_by` is a metric that is not computed, or if settings of metrics contradict
/// each other or can't be used.
void validate_metrics(const TextValidationOptions& options);

}  // namespace sixfold
