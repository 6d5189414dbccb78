#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/api.h"

namespace sixfold {

/// Counts values between bounds, as the histograms of Prometheus do.
class SIXFOLD_API Histogram {
 public:
  /// `bounds` in ascending order. There is one count more than bounds: that of the values above the last one.
  explicit Histogram(std::span<const double> bounds);

  void add(double value);
  /// Adds the counts of another histogram, which has the same bounds.
  void add(const Histogram& other);

  const std::vector<double>& bounds() const { return bounds_; }
  /// For each bound the number of values above the bound before it, and up to this one; at the end, those above
  /// all bounds.
  const std::vector<uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

/// Times in seconds, from a millisecond to a minute.
SIXFOLD_API Histogram histogram_of_times();

}  // namespace sixfold
