#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold {

/// A matrix in int8. The values of row r are data * scales[r]; the scale is the row's largest magnitude / 127.
/// If all values are whole multiples of the matrix's largest magnitude / 127, as those of a model that was in
/// int8 with one scale for each matrix, that is the scale of every row, and no value is rounded.
struct Int8Matrix {
  std::vector<int8_t> data;
  std::vector<float> scales;
};

/// Quantizes finite values, in rows of `cols`, rounding to the nearest integer (ties to even).
Int8Matrix round_to_int8(const std::vector<float>& values, int64_t cols);

/// The name of a matrix's scales in a model file, and whether a name is such a name.
std::string scales_of(const std::string& parameter);
bool is_scales(const std::string& name);

}  // namespace sixfold
