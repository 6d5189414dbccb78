#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold {

/// A matrix in int8. The values of row r are data * scales[r]; the scale is the row's largest magnitude / 127.
/// If all values are integer multiples of the matrix's largest magnitude / 127, as in a model that was
/// quantized with one scale for each matrix, every row has that scale, and no value is rounded.
struct Int8Matrix {
  std::vector<int8_t> data;
  std::vector<float> scales;
};

/// Quantizes finite values, in rows of `cols`, rounding to the nearest integer (ties to even).
Int8Matrix round_to_int8(const std::vector<float>& values, int64_t cols);

/// The name of the scales of a matrix in a model file, and whether a name has this form.
std::string scales_of(const std::string& parameter);
bool is_scales(const std::string& name);

}  // namespace sixfold
