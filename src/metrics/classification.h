#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sixfold {

/// How often each class occurs as the truth and as a prediction, and how often both are the same. Takes memory
/// in proportion to the number of classes.
class ClassCounts {
 public:
  explicit ClassCounts(size_t classes) : classes_(classes) {}

  void add(size_t truth, size_t predicted, int64_t count = 1);
  int64_t total() const { return total_; }

  /// The share of predictions that are right, from 0 to 1.
  double accuracy() const;
  /// The mean of the F1 scores of all classes that occur, as the truth or as a prediction. The F1 score of a
  /// class is 2 tp / (2 tp + fp + fn).
  double macro_f1() const;

 private:
  struct Class {
    int64_t right = 0, truth = 0, predicted = 0;
  };
  std::vector<Class> classes_;
  int64_t total_ = 0, right_ = 0;
};

/// How often pairs of a true label and a predicted label occur.
struct LabelPairs {
  std::map<std::pair<std::string, std::string>, int64_t> counts;

  LabelPairs& operator+=(const LabelPairs& other);
  /// All labels, in alphabetical order.
  std::vector<std::string> labels() const;
  int64_t count(const std::string& truth, const std::string& predicted) const;
  /// The counts of the classes `labels()`.
  ClassCounts classes() const;
};

/// The label that a line begins with: "label" or "label<TAB>anything", without spaces around it.
std::string label_of(std::string_view line);

/// Compares the labels that lines begin with.
class LabelMetric {
 public:
  /// There must be one reference.
  LabelPairs statistics(std::string_view hypothesis, std::span<const std::string> references) const;
};

}  // namespace sixfold
