#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sixfold {

/// How often each class was predicted for each true class.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(size_t classes) : classes_(classes), counts_(classes * classes) {}

  void add(size_t truth, size_t predicted, int64_t count = 1) {
    counts_[truth * classes_ + predicted] += count;
  }
  int64_t count(size_t truth, size_t predicted) const { return counts_[truth * classes_ + predicted]; }
  size_t classes() const { return classes_; }
  int64_t total() const;

  /// The share of predictions that are right, from 0 to 1.
  double accuracy() const;
  /// The mean of the F1 scores of all classes that occur, as the truth or as a prediction. The F1 score of a
  /// class is 2 tp / (2 tp + fp + fn).
  double macro_f1() const;

 private:
  size_t classes_;
  std::vector<int64_t> counts_;  // a row for each true class
};

/// How often pairs of a true label and a predicted label occur.
struct LabelPairs {
  std::map<std::pair<std::string, std::string>, int64_t> counts;

  LabelPairs& operator+=(const LabelPairs& other);
  /// All labels, in alphabetical order.
  std::vector<std::string> labels() const;
  /// The confusion matrix of `labels()`.
  ConfusionMatrix confusion() const;
};

/// Compares lines that begin with a label: "label" or "label<TAB>anything". Spaces around a label are ignored.
class LabelMetric {
 public:
  /// There must be one reference.
  LabelPairs statistics(std::string_view hypothesis, std::span<const std::string> references) const;
};

}  // namespace sixfold
