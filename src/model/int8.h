#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold {

/// A matrix in int8: row r counts data * scales[r], the scale being the row's largest magnitude / 127.
struct Int8Matrix {
  std::vector<int8_t> data;
  std::vector<float> scales;
};

/// Rounds finite values, rows of `cols`, to the nearest (halves to even).
Int8Matrix round_to_int8(const std::vector<float>& values, int64_t cols);

/// The name in a model file of a matrix's scales, and whether a name is such a one.
std::string scales_of(const std::string& parameter);
bool is_scales(const std::string& name);

}  // namespace sixfold
