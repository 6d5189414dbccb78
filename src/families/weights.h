#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/tensor_map.h"
#include "model/transformer.h"

namespace sixfold {

/// A weight that is being converted, row-major.
struct Matrix {
  int64_t rows = 0, cols = 0;
  std::vector<float> values;
  bool vector = false;  ///< it has one dimension in a file, and here one row

  float& at(int64_t row, int64_t col) { return values[static_cast<size_t>(row * cols + col)]; }
  float at(int64_t row, int64_t col) const { return values[static_cast<size_t>(row * cols + col)]; }
};

Matrix transposed(const Matrix& matrix);

/// Reads tensors of another program's model and records which were read, so that none is overlooked.
class WeightReader {
 public:
  explicit WeightReader(const TensorMap& tensors) : tensors_(tensors) {}

  bool has(const std::string& name) const { return tensors_.find(name) != nullptr; }
  /// Reads a tensor of two dimensions, or of one (as one row). Throws an input error that names it if it is
  /// missing, has another shape, is not of a floating-point type, or has values that are not finite.
  Matrix take(const std::string& name);
  /// Also throws unless it has this shape. A negative size matches any size.
  Matrix take(const std::string& name, int64_t rows, int64_t cols);
  /// Reads a tensor, if it is there, that repeats the values of `original`, a tensor named `tied_to`. Throws an
  /// input error if they differ.
  void take_copy(const std::string& name, const Matrix& original, const std::string& tied_to);
  /// Marks a tensor that is not needed as read.
  void skip(const std::string& name) { taken_.insert(name); }
  /// Throws an input error that names a tensor that was not read.
  void require_all_taken() const;

 private:
  const TensorMap& tensors_;
  std::set<std::string> taken_;
};

/// Weights by the names of the model's parameters.
using NamedMatrices = std::map<std::string, Matrix>;

/// The values of a parameter, in the shape that it has in a file.
Matrix matrix_of(const Parameter& parameter, const Transformer& model);

/// Writes weights in fp32 as a safetensors file that PyTorch reads.
void write_weights(const std::filesystem::path& path, const NamedMatrices& weights);

/// Makes a model with these weights. Throws an input error unless there is exactly one of the right shape for
/// each parameter.
std::unique_ptr<Transformer> build_model(const ModelConfig& config, const NamedMatrices& weights);

}  // namespace sixfold
