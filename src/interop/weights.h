#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/tensor_map.h"
#include "model/transformer.h"

namespace sixfold {

/// A matrix on its way from one model's form to another's, row-major. Vectors are one row.
struct Matrix {
  int64_t rows = 0, cols = 0;
  std::vector<float> values;

  float& at(int64_t row, int64_t col) { return values[static_cast<size_t>(row * cols + col)]; }
  float at(int64_t row, int64_t col) const { return values[static_cast<size_t>(row * cols + col)]; }
};

Matrix transposed(const Matrix& matrix);

/// Takes tensors out of foreign files and remembers which, so that none is overlooked.
class WeightReader {
 public:
  explicit WeightReader(const TensorMap& tensors) : tensors_(tensors) {}

  bool has(const std::string& name) const { return tensors_.find(name) != nullptr; }
  /// A tensor of two axes, or of one (as one row), whose numbers are finite. Throws an input error that names
  /// it.
  Matrix take(const std::string& name);
  /// The same, of that shape; a negative size is any.
  Matrix take(const std::string& name, int64_t rows, int64_t cols);
  /// The tensor is of no use here.
  void skip(const std::string& name) { taken_.insert(name); }
  /// Throws an input error that names a tensor which nothing took.
  void require_all_taken() const;

 private:
  const TensorMap& tensors_;
  std::set<std::string> taken_;
};

/// By the names of the model's parameters.
using NamedMatrices = std::map<std::string, Matrix>;

/// A model with those weights, one for each of its parameters and none besides.
std::unique_ptr<Transformer> build_model(const ModelConfig& config, const NamedMatrices& weights);

}  // namespace sixfold
