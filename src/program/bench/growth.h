#pragma once
#include <span>

namespace sixfold {

/// The exponent p of the power law `time = c * size^p` that fits best: the slope of the line through the
/// logarithms, by least squares. Throws an input error unless there are as many times as sizes, at least two
/// different sizes, and all values are positive.
double growth_exponent(std::span<const double> sizes, std::span<const double> times);

/// The median, or the mean of the two middle values if the number of values is even. Throws an input error if
/// there are none.
double median(std::span<const double> values);

}  // namespace sixfold
