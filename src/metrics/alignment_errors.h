#pragma once
#include <cstdint>

#include "text/word_links.h"

namespace sixfold {

/// Compares links between words with links that were made by hand: the alignment error rate (Och and Ney 2003,
/// "A Systematic Comparison of Various Statistical Alignment Models").
class AlignmentErrors {
 public:
  void add(const WordLinks& found, const GoldLinks& gold);

  /// 1 - (found sure + found possible or sure) / (found + sure), from 0 to 1; 0 if there are no links.
  double rate() const;
  /// The share of the found links that are sure or possible, and of the sure links that were found; 1 if there
  /// are none.
  double precision() const;
  double recall() const;

 private:
  int64_t found_ = 0, sure_ = 0, found_sure_ = 0, found_possible_ = 0;
};

}  // namespace sixfold
