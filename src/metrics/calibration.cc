#include "metrics/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sixfold {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::optional<double> correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2) return {};
  const double mean_a = mean(a), mean_b = mean(b);
  double covariance = 0, variance_a = 0, variance_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    covariance += (a[i] - mean_a) * (b[i] - mean_b);
    variance_a += (a[i] - mean_a) * (a[i] - mean_a);
    variance_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  // The mean of equal values may differ from them in its last bits.
  const auto [min_a, max_a] = std::ranges::minmax(a);
  const auto [min_b, max_b] = std::ranges::minmax(b);
  if (min_a == max_a || min_b == max_b || variance_a == 0 || variance_b == 0) return {};
  return std::clamp(covariance / std::sqrt(variance_a) / std::sqrt(variance_b), -1.0, 1.0);
}

std::vector<ReliabilityBin> reliability(std::span<const double> predicted, std::span<const double> observed) {
  constexpr int count = 10;
  std::vector<ReliabilityBin> bins(count);
  for (size_t i = 0; i < predicted.size(); ++i) {
    const int number = std::clamp(static_cast<int>(predicted[i] * count), 0, count - 1);
    ReliabilityBin& bin = bins[static_cast<size_t>(number)];
    ++bin.count;
    bin.predicted += predicted[i];
    bin.observed += observed[i];
  }
  std::erase_if(bins, [](const ReliabilityBin& bin) { return bin.count == 0; });
  for (ReliabilityBin& bin : bins) {
    bin.predicted /= static_cast<double>(bin.count);
    bin.observed /= static_cast<double>(bin.count);
  }
  return bins;
}

double calibration_error(std::span<const ReliabilityBin> bins) {
  double sum = 0, predictions = 0;
  for (const ReliabilityBin& bin : bins) {
    sum += static_cast<double>(bin.count) * std::abs(bin.predicted - bin.observed);
    predictions += static_cast<double>(bin.count);
  }
  return predictions > 0 ? sum / predictions : 0;
}

}  // namespace sixfold
