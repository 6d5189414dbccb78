#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/parameters.h"

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

/// Matrices are what int8 is for: weights of linear maps and embeddings. Learned positions, which are but
/// added, are none of them, nor are biases and norms.
bool is_matrix(const Parameter& parameter);

}  // namespace sixfold
