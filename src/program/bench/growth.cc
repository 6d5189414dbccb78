#include "program/bench/growth.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace sixfold {
namespace {

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> result;
  for (const double value : values) {
    require(value > 0 && std::isfinite(value), "the growth of {} can't be fitted; it must be positive", value);
    result.push_back(std::log(value));
  }
  return result;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double growth_exponent(std::span<const double> sizes, std::span<const double> times) {
  require(sizes.size() == times.size(), "{} sizes, but {} times", sizes.size(), times.size());
  const std::vector<double> x = logarithms(sizes), y = logarithms(times);
  require(x.size() >= 2 && *std::ranges::min_element(x) < *std::ranges::max_element(x),
          "a growth needs two different sizes");
  const double middle_x = mean(x), middle_y = mean(y);
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - middle_x) * (y[i] - middle_y);
    variance += (x[i] - middle_x) * (x[i] - middle_x);
  }
  return covariance / variance;
}

double median(std::span<const double> values) {
  require(!values.empty(), "the median of no values");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace sixfold
