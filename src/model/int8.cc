#include "model/int8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sixfold {
namespace {

constexpr const char* scales_suffix = ".scales";

/// Added to a number of at most 2^22 and subtracted again, it leaves the nearest whole number, ties to even, as
/// `std::nearbyint`, but in vectors.
constexpr float whole = 0x1.8p23f;

/// A row without a larger magnitude becomes zero, because its scale would not be a normal number.
constexpr float smallest = 128 * std::numeric_limits<float>::min();

}  // namespace

Int8Matrix round_to_int8(const std::vector<float>& values, int64_t cols) {
  Int8Matrix matrix;
  matrix.data.resize(values.size());
  for (size_t begin = 0; begin < values.size(); begin += static_cast<size_t>(cols)) {
    float largest = 0;
    for (size_t i = begin; i < begin + static_cast<size_t>(cols); ++i)
      largest = std::max(largest, std::abs(values[i]));
    if (largest < smallest) largest = 0;
    matrix.scales.push_back(largest / 127);
    const float by = largest > 0 ? 127 / largest : 0;
    for (size_t i = begin; i < begin + static_cast<size_t>(cols); ++i)
      matrix.data[i] = static_cast<int8_t>(values[i] * by + whole - whole);
  }
  return matrix;
}

std::string scales_of(const std::string& parameter) { return parameter + scales_suffix; }
bool is_scales(const std::string& name) { return name.ends_with(scales_suffix); }

}  // namespace sixfold
