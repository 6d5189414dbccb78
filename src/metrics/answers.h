#pragma once
#include <string>
#include <string_view>

#include "metrics/metric.h"

namespace sixfold {

// Metrics of answers as the evaluation script of SQuAD 1.1 computes them (Rajpurkar et al., 2016): answers are
// compared in lower case, without ASCII punctuation, without the words a, an and the, and with single spaces.
// The score of an answer is the best one over all right answers.

/// The percentage of answers that equal a right one.
class SquadExactMatch : public Metric {
 public:
  size_t size() const override { return 1; }
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  double score(std::span<const double> sums, int64_t outputs) const override;
};

/// The mean F1 score of the bags of words, in percent.
class SquadF1 : public Metric {
 public:
  size_t size() const override { return 1; }
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  double score(std::span<const double> sums, int64_t outputs) const override;
};

/// Returns an answer in the form in which answers are compared. Throws an input error for invalid UTF-8.
std::u32string normalize_answer(std::string_view answer);

}  // namespace sixfold
