#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// How well answers agree with the right ones. Those of a corpus are the sum of those of its questions.
struct AnswerStatistics {
  int64_t questions = 0;
  int64_t exact = 0;  ///< number of answers that are equal to a right one
  double f1 = 0;      ///< sum over the questions

  AnswerStatistics& operator+=(const AnswerStatistics& other);
  /// The share of exact answers, from 0 to 1.
  double exact_match() const;
  /// The mean F1 score, from 0 to 1.
  double mean_f1() const;
};

/// Compares answers as the evaluation script of SQuAD 1.1 does (Rajpurkar et al., 2016): in lower case, without
/// ASCII punctuation, without the words a, an and the, and with single spaces. The F1 score is that of the bags
/// of words. Of several right answers that count which gives the best score. Any number of threads may use one
/// object at once.
class AnswerMetric {
 public:
  /// There must be at least one reference. Throws an input error for invalid UTF-8.
  AnswerStatistics statistics(std::string_view hypothesis, std::span<const std::string> references) const;
};

/// Returns an answer in the form in which answers are compared. Throws an input error for invalid UTF-8.
std::u32string normalize_answer(std::string_view answer);

}  // namespace sixfold
