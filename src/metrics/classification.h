#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric.h"

namespace sixfold {

/// The percentage of labels that are right. A label has one reference.
class Accuracy : public Metric {
 public:
  size_t size() const override { return 1; }
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  double score(std::span<const double> sums, int64_t outputs) const override;
};

/// The mean, in percent, of the F1 scores of all labels that occur as a reference or as an output. The F1 score
/// of a label is 2 tp / (2 tp + fp + fn). The sums are, for each label, how often it is right, is a reference,
/// and is an output.
class MacroF1 : public Metric {
 public:
  /// `labels`: all labels that occur, each once. The scores are added in their order.
  explicit MacroF1(const std::vector<std::string>& labels);

  size_t size() const override { return 3 * numbers_.size(); }
  /// Throws an input error for a label that is not among those of the constructor.
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  double score(std::span<const double> sums, int64_t outputs) const override;

 private:
  uint32_t number_of(std::string_view label) const;

  std::map<std::string, uint32_t, std::less<>> numbers_;
};

/// The label that a line begins with: "label" or "label<TAB>anything", without spaces around it.
std::string label_of(std::string_view line);

}  // namespace sixfold
