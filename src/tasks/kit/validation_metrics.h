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

/// Metrics of a table that a validation computes, and their sums so far.
class ValidationScores {
 public:
  /// `names`: of the table.
  ValidationScores(MetricTable table, const std::vector<std::string>& names, const MetricOptions& options);

  /// Adds an output. If the references are not known to the letter, no metric of whole lines finds them equal.
  /// `source`: a text, for metrics that read it; none for other sources.
  void add(std::string_view output, std::span<const std::string> references, bool known_to_the_letter = true,
           const std::string* source = nullptr);
  /// What an output adds to each sum, `size()` numbers: `add(numbers_of(...))` may be called by another
  /// process.
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
  // The outputs for metrics that score all at once.
  std::vector<std::string> outputs_, sources_;
  References references_;
};

/// Validation of a task with metrics of its own: those of a table for its kind of outputs.
struct MetricValidationOptions : ValidationOptions {
  MetricValidationOptions(LineContent content, std::string best_by, MetricTable table);

  MetricTable table;
  std::vector<std::string> names;  ///< of the metrics of the table that can be computed
  ChosenName best_by;
};

void visit(OptionVisitor& v, MetricValidationOptions& o);
inline std::string best_metric(const MetricValidationOptions& o) { return o.best_by.name; }

/// Validation of a task that generates text. Metrics need its outputs; without one, validation is quick.
struct TextValidationOptions : MetricValidationOptions {
  /// `usual`: what validation reports whenever it computes any metric of the table. `chosen`: the default.
  TextValidationOptions(std::vector<std::string> usual, std::vector<std::string> chosen, MetricTable table);

  std::vector<std::string> usual;
  ChosenNames metrics;
  MetricOptions options;
  int beam_size = 1;

  /// Whether a metric needs outputs of the model.
  bool generates() const;
  /// Returns the metrics that validation computes from outputs. `tokenizer`: of the references.
  ValidationScores scores(const Tokenizer& tokenizer) const;
  /// Lets the program of `metric_command`, if any, score references of the validation text as if they were
  /// outputs, so that what is wrong with it is found before a training begins. Throws as the metric, and
  /// `Cancelled` when `stop` becomes nonzero.
  void try_program(const std::vector<std::string>& references, const std::vector<std::string>& sources,
                   const std::atomic<int>* stop) const;
};

/// All fields. `outputs`: what metrics need, such as "translations".
void visit_text_validation(OptionVisitor& v, TextValidationOptions& o, std::string_view outputs);

/// Throws an input error unless the metric that decides is among those that are computed, and if settings of
/// metrics contradict each other or can't be used.
void validate_metrics(const TextValidationOptions& options);

}  // namespace sixfold
