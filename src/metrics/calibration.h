#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace sixfold {

/// Pearson's correlation of two lists of the same length. Nothing if it is not defined: there are fewer than
/// two values, or those of a list are all equal.
std::optional<double> correlation(std::span<const double> a, std::span<const double> b);

/// The predictions in an interval, and the observed outcomes.
struct ReliabilityBin {
  size_t count = 0;
  double predicted = 0, observed = 0;  ///< the means of both
};

/// Divides predictions from 0 to 1 among ten bins of equal width; those without any are left out. `observed`:
/// one for each prediction.
std::vector<ReliabilityBin> reliability(std::span<const double> predicted, std::span<const double> observed);

/// The expected calibration error (Naeini et al. 2015): the mean, over predictions, of the distance between the
/// two means of their bin. 0 for no bins.
double calibration_error(std::span<const ReliabilityBin> bins);

}  // namespace sixfold
