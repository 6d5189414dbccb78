#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sixfold {

/// A matrix in int8, or in 4 bits (`round_to_int4`). The values of row r are data * scales[r]; the scale is the
/// row's largest magnitude / 127. If all values are integer multiples of the matrix's largest magnitude / 127,
/// as in a model that was quantized with one scale for each matrix, every row has that scale, and no value is
/// rounded.
struct Int8Matrix {
  std::vector<int8_t> data;
  std::vector<float> scales;
};

/// Quantizes finite values, in rows of `cols`, rounding to the nearest integer (ties to even).
Int8Matrix round_to_int8(const std::vector<float>& values, int64_t cols);

/// Quantizes finite values to 4 bits, in rows of `cols`, by groups of 32 columns. `data` are numbers from 0 to
/// 15, one in each element. `scales` has a scale and an offset for each group, [rows, groups, 2], which bf16
/// can represent: a value is its number times the scale plus the offset. They are those of several candidates
/// with the smallest squared error. The values of a group of GGUF's Q4_0 and Q4_1 are found again.
Int8Matrix round_to_int4(const std::vector<float>& values, int64_t cols);

/// The bytes of numbers from 0 to 15 in a model file, and their inverse: each row of `cols` numbers begins with
/// a new byte, whose lower half is the first number.
std::vector<uint8_t> pack_halves(std::span<const int8_t> numbers, int64_t cols);
std::vector<int8_t> unpack_halves(std::span<const uint8_t> bytes, int64_t cols);

/// The name of the scales of a matrix in a model file, and whether a name has this form.
std::string scales_of(const std::string& parameter);
bool is_scales(const std::string& name);

}  // namespace sixfold
