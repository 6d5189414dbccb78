#pragma once
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sixfold {

/// The range of the values of an axis.
struct AxisRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// An axis, which maps values to pixels.
class Axis {
 public:
  /// From pixel `begin` to pixel `end`. The values of a logarithmic axis are positive.
  Axis(AxisRange range, bool logarithmic, double begin, double end);

  bool shows(double value) const { return std::isfinite(value) && (!log_ || value > 0); }
  double place(double value) const {
    const double at = log_ ? std::log10(value) : value;
    return begin_ + (at - range_.low) / (range_.high - range_.low) * (end_ - begin_);
  }
  /// About `count` round numbers in the range; if the range is a single value, only that value.
  std::vector<double> marks(int count) const;

 private:
  AxisRange range_;
  bool log_;
  double begin_, end_;
  std::optional<double> single_value_;  ///< set if the range is a single value
};

/// Round numbers within [low, high] that divide it into about `parts` parts.
std::vector<double> ticks(double low, double high, int parts);
/// The numbers of an axis as text, "0.001", "1e-05", "12k" or "3M", with enough digits to distinguish them.
std::vector<std::string> tick_texts(const std::vector<double>& values);

}  // namespace sixfold
