#include "model/int8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "backend/view.h"
#include "base/bf16.h"

namespace sixfold {
namespace {

constexpr const char* scales_suffix = ".scales";

/// Adding this to a number of at most 2^22 and subtracting it again rounds to the nearest integer, ties to
/// even, as `std::nearbyint` does. Compilers can vectorize it.
constexpr float rounding_offset = 0x1.8p23f;

/// A row without a larger magnitude becomes zero, because its scale would not be a normal number.
constexpr float smallest = 128 * std::numeric_limits<float>::min();

/// The largest magnitude, of eight values at a time, so that compilers can vectorize it.
float largest_of(std::span<const float> values) {
  std::array<float, 8> all{};
  size_t i = 0;
  for (; i + all.size() <= values.size(); i += all.size())
    for (size_t j = 0; j < all.size(); ++j) all[j] = std::max(all[j], std::abs(values[i + j]));
  for (; i < values.size(); ++i) all[0] = std::max(all[0], std::abs(values[i]));
  const float largest = *std::ranges::max_element(all);
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

constexpr auto group_size = static_cast<size_t>(columns_of_group(4));

/// The nearest bf16. Finite numbers stay finite.
float round_to_bf16(float value) {
  const float rounded = from_bf16(to_bf16(value));
  return std::isfinite(rounded) ? rounded : std::copysign(largest_bf16, value);
}

using Group = std::array<float, group_size>;

/// The values that 4 bits stand for: scale * number + offset.
struct Line {
  float scale, offset, inverse = scale >= std::numeric_limits<float>::min() ? 1 / scale : 0;

  float number_of(float value) const {
    const float number = std::min(std::max((value - offset) * inverse, 0.0f), 15.0f);
    return number + rounding_offset - rounding_offset;
  }
};

/// The sum over a group, of eight at a time, so that compilers can vectorize it.
template <class Function>
float sum_of(const Function& term) {
  std::array<float, 8> sums{};
  for (size_t i = 0; i < group_size; i += 8)
    for (size_t j = 0; j < 8; ++j) sums[j] += term(i + j);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

float squared_error(const Group& values, const Line& line) {
  return sum_of([&](size_t i) {
    const float difference = values[i] - (line.scale * line.number_of(values[i]) + line.offset);
    return difference * difference;
  });
}

/// The line through the values, by least squares, whose numbers are those of `first`.
Line fit(const Group& values, const Line& first) {
  Group numbers;
  for (size_t i = 0; i < group_size; ++i) numbers[i] = first.number_of(values[i]);
  constexpr auto count = static_cast<float>(group_size);
  const float sum_n = sum_of([&](size_t i) { return numbers[i]; }),
              sum_nn = sum_of([&](size_t i) { return numbers[i] * numbers[i]; }),
              sum_v = sum_of([&](size_t i) { return values[i]; }),
              sum_nv = sum_of([&](size_t i) { return numbers[i] * values[i]; });
  const float determinant = count * sum_nn - sum_n * sum_n,
              scale = (count * sum_nv - sum_n * sum_v) / determinant;
  if (!(determinant > 0 && scale > 0)) return first;
  return {scale, (sum_v - scale * sum_n) / count};
}

/// Tries the whole range of the values, smaller ones around its middle, and 16 numbers from the value of the
/// largest magnitude through zero, as Q4_0 has them. `values`: at most `group_size`.
Line best_line(std::span<const float> values) {
  const float largest = largest_of(values);
  if (largest == 0) return {0, 0};
  Group scaled;  // so that squares are normal numbers; a shorter group is repeated
  for (size_t i = 0; i < group_size; ++i) scaled[i] = values[i % values.size()] * (1 / largest);
  const auto [low, high] = std::ranges::minmax(scaled);
  const auto around_middle = [low = low, high = high](float factor) {
    const float scale = (high - low) * factor / 15;
    return Line{scale, (low + high) / 2 - scale * 7.5f};
  };
  const std::array candidates{around_middle(1), around_middle(0.95f), around_middle(0.9f), around_middle(0.8f),
                              Line{1 / 8.0f, low <= -high ? -1.0f : -7 / 8.0f}};
  Line best{0, 0};
  float smallest_error = std::numeric_limits<float>::infinity();
  for (const Line& candidate : candidates) {
    const Line line = fit(scaled, candidate);
    const Line stored{round_to_bf16(line.scale * largest), round_to_bf16(line.offset * largest)};
    const float error = squared_error(scaled, {stored.scale / largest, stored.offset / largest});
    if (error < smallest_error) smallest_error = error, best = stored;
  }
  return best;
}

}  // namespace

Int8Matrix round_to_int8(const std::vector<float>& values, int64_t cols) {
  Int8Matrix matrix;
  matrix.data.resize(values.size());
  const auto width = static_cast<size_t>(cols);
  std::vector<float> largest;  // of each row
  for (size_t begin = 0; begin < values.size(); begin += width)
    largest.push_back(largest_of(std::span(values).subspan(begin, width)));
  const float matrix_max = largest.empty() ? 0 : *std::ranges::max_element(largest);
  if (matrix_max > 0 && are_multiples(values, matrix_max)) std::ranges::fill(largest, matrix_max);
  for (size_t row = 0; row < largest.size(); ++row) {
    const float inverse_scale = largest[row] > 0 ? 127 / largest[row] : 0;
    matrix.scales.push_back(largest[row] / 127);
    const float* from = values.data() + row * width;
    int8_t* to = matrix.data.data() + row * width;
    for (size_t i = 0; i < width; ++i)
      to[i] = static_cast<int8_t>(from[i] * inverse_scale + rounding_offset - rounding_offset);
  }
  return matrix;
}

Int8Matrix round_to_int4(const std::vector<float>& values, int64_t cols) {
  Int8Matrix matrix;
  matrix.data.resize(values.size());
  for (size_t row = 0; row < values.size(); row += static_cast<size_t>(cols))
    for (size_t begin = row, end = row + static_cast<size_t>(cols); begin < end; begin += group_size) {
      const size_t count = std::min(group_size, end - begin);
      const Line line = best_line(std::span(values).subspan(begin, count));
      matrix.scales.insert(matrix.scales.end(), {line.scale, line.offset});
      for (size_t i = begin; i < begin + count; ++i)
        matrix.data[i] = static_cast<int8_t>(line.number_of(values[i]));
    }
  return matrix;
}

std::vector<uint8_t> pack_halves(std::span<const int8_t> numbers, int64_t cols) {
  std::vector<uint8_t> bytes;
  const auto width = static_cast<size_t>(cols);
  for (size_t row = 0; row < numbers.size(); row += width)
    for (size_t i = row; i < row + width; i += 2) {
      const int upper = i + 1 < row + width ? numbers[i + 1] : 0;
      bytes.push_back(static_cast<uint8_t>(numbers[i] | upper << 4));
    }
  return bytes;
}

std::vector<int8_t> unpack_halves(std::span<const uint8_t> bytes, int64_t cols) {
  std::vector<int8_t> numbers;
  const size_t width = static_cast<size_t>(cols + 1) / 2;
  for (size_t i = 0; i < bytes.size(); ++i) {
    numbers.push_back(static_cast<int8_t>(bytes[i] & 15));
    if (i % width + 1 < width || cols % 2 == 0) numbers.push_back(static_cast<int8_t>(bytes[i] >> 4));
  }
  return numbers;
}

std::string scales_of(const std::string& parameter) { return parameter + scales_suffix; }
bool is_scales(const std::string& name) { return name.ends_with(scales_suffix); }

}  // namespace sixfold
