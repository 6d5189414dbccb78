#include "metrics/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "metrics/pcg64.h"

namespace sixfold {
namespace {

/// The regularized incomplete beta function I_x(a, b), for a, b > 0 and 0 <= x <= 1: the continued fraction of
/// DLMF 8.17.22, evaluated by the modified method of Lentz (Press et al. 2007, "Numerical Recipes", 6.4).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);  // where it converges fast
  constexpr double tiny = 1e-300;
  const auto not_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  return fraction * std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta) / a;
}

}  // namespace

double mean_of(std::span<const double> values) {
  double sum = 0;  // of differences, so that the mean of equal numbers is that number
  for (const double value : values) sum += value - values[0];
  return values[0] + sum / static_cast<double>(values.size());
}

std::optional<double> deviation_of(std::span<const double> values) {
  if (values.size() < 2) return {};
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> welch_p_value(std::span<const double> a, std::span<const double> b) {
  if (std::min(a.size(), b.size()) < min_compared_runs) return {};
  const auto size_a = static_cast<double>(a.size()), size_b = static_cast<double>(b.size());
  // Squared standard errors of the means.
  const double error_a = *deviation_of(a) * *deviation_of(a) / size_a,
               error_b = *deviation_of(b) * *deviation_of(b) / size_b, error = error_a + error_b;
  if (!(error > 0)) return {};
  const double difference = mean_of(a) - mean_of(b), t_squared = difference * difference / error;
  const double freedom = error * error / (error_a * error_a / (size_a - 1) + error_b * error_b / (size_b - 1));
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t_squared));
}

double randomization_p_value(size_t sentences, const RandomizationOptions& options,
                             const std::function<double(const std::vector<bool>& swapped)>& difference) {
  require(options.trials >= 1, "randomization: {} trials; there must be at least one", options.trials);
  std::vector<bool> swapped(sentences);
  const double found =
      std::abs(difference(swapped)) * (1 - 1e-9);  // sums in another order are rounded otherwise
  Pcg64 random(options.seed);
  int as_large = 0;
  for (int trial = 0; trial < options.trials; ++trial) {
    for (size_t i = 0; i < sentences; ++i) swapped[i] = random.coin();
    if (std::abs(difference(swapped)) >= found) ++as_large;
  }
  return (as_large + 1.0) / (options.trials + 1.0);
}

std::vector<std::optional<double>> holm_adjusted(std::vector<std::optional<double>> p_values) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return !p_values[i]; });
  std::ranges::stable_sort(order, {}, [&](size_t i) { return *p_values[i]; });
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    double& p = *p_values[order[rank]];
    largest = std::max(largest, std::min(1.0, p * static_cast<double>(p_values.size() - rank)));
    p = largest;
  }
  return p_values;
}

}  // namespace sixfold
