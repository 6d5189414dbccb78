#include "program/plot/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace sixfold {
namespace {

std::string number_text(double value, int digits) {
  const double size = std::abs(value);
  if (size >= 1e6 && size < 1e9) return fmt::format("{:.{}g}M", value / 1e6, digits);
  if (size >= 1e4 && size < 1e6) return fmt::format("{:.{}g}k", value / 1e3, digits);
  return fmt::format("{:.{}g}", size < 1e-12 ? 0.0 : value, digits);
}

}  // namespace

Axis::Axis(AxisRange range, bool logarithmic, double begin, double end)
    : range_(range), log_(logarithmic), begin_(begin), end_(end) {
  if (log_) {
    range_.low = std::log10(range_.low);
    range_.high = std::log10(range_.high);
  }
  // A single value is drawn in the middle, and a single zero at the bottom, without other numbers on the axis.
  if (range_.high - range_.low < 1e-12 * std::max(1.0, std::abs(range_.high))) {
    single_value_ = range.low;
    const double room = std::abs(range_.low) * 0.1;
    range_.low -= room;
    range_.high += room > 0 ? room : 1;
  }
}

std::vector<double> Axis::marks(int count) const {
  if (single_value_) return {*single_value_};
  if (!log_) return ticks(range_.low, range_.high, count);
  std::vector<double> values;
  for (const auto& factors : {std::vector<double>{1}, {1, 3}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}}) {
    values.clear();
    for (int power = static_cast<int>(std::floor(range_.low)); power <= range_.high; ++power)
      for (const double factor : factors) {
        const double at = power + std::log10(factor);
        if (at >= range_.low - 1e-9 && at <= range_.high + 1e-9) values.push_back(std::pow(10, at));
      }
    if (std::ssize(values) >= std::min(count, 3)) break;
  }
  if (values.size() < 3)  // less than half a power of ten
    return ticks(std::pow(10, range_.low), std::pow(10, range_.high), count);
  while (std::ssize(values) > 2 * count) {  // too many powers of ten: keep every other one
    std::vector<double> fewer;
    for (size_t i = 0; i < values.size(); i += 2) fewer.push_back(values[i]);
    values = fewer;
  }
  return values;
}

std::vector<double> ticks(double low, double high, int parts) {
  require(std::isfinite(low) && std::isfinite(high) && low <= high && parts >= 1, "no ticks from {} to {}", low,
          high);
  // Steps of a narrower range would be lost in rounding.
  if (high - low <= 1e-12 * std::max(std::abs(low), std::abs(high))) return {low};
  const double raw = (high - low) / parts, power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= raw * 0.9) step = factor * power;
  std::vector<double> values;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) values.push_back(i * step);
  return values;
}

std::vector<std::string> tick_texts(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (int digits = 4; digits <= 8; ++digits) {
    texts.clear();
    for (const double value : values) texts.push_back(number_text(value, digits));
    if (std::set<std::string>(texts.begin(), texts.end()).size() == texts.size()) break;
  }
  return texts;
}

}  // namespace sixfold
