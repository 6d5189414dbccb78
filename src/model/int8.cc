#include "model/int8.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace sixfold {
namespace {

constexpr const char* scales_suffix = ".scales";

/// Adding this to a number of at most 2^22 and subtracting it again rounds to the nearest integer, ties to
/// even, as `std::nearbyint` does. Compilers can vectorise it.
constexpr float rounding_offset = 0x1.8p23f;

/// A row without a larger magnitude becomes zero, because its scale would not be a normal number.
constexpr float smallest = 128 * std::numeric_limits<float>::min();

float largest_of(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest < smallest ? 0 : largest;
}

/// Whether all values are integer multiples of `largest` / 127, up to rounding errors.
bool are_multiples(std::span<const float> values, float largest) {
  const float inverse_scale = 127 / largest;
  return std::ranges::all_of(values, [&](float value) {
    const float quotient = value * inverse_scale, number = quotient + rounding_offset - rounding_offset;
    return std::abs(quotient - number) <= 1e-6f * std::abs(number);
  });
}

}  // namespace

Int8Matrix round_to_int8(const std::vector<float>& values, int64_t cols) {
  Int8Matrix matrix;
  matrix.data.resize(values.size());
  const float matrix_max = largest_of(values);
  const bool one_scale = matrix_max > 0 && are_multiples(values, matrix_max);
  for (size_t begin = 0; begin < values.size(); begin += static_cast<size_t>(cols)) {
    const std::span<const float> row(values.data() + begin, static_cast<size_t>(cols));
    const float largest = one_scale ? matrix_max : largest_of(row),
                inverse_scale = largest > 0 ? 127 / largest : 0;
    matrix.scales.push_back(largest / 127);
    for (size_t i = 0; i < row.size(); ++i)
      matrix.data[begin + i] = static_cast<int8_t>(row[i] * inverse_scale + rounding_offset - rounding_offset);
  }
  return matrix;
}

std::string scales_of(const std::string& parameter) { return parameter + scales_suffix; }
bool is_scales(const std::string& name) { return name.ends_with(scales_suffix); }

}  // namespace sixfold
