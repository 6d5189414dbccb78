#include "families/weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/join.h"
#include "formats/safetensors.h"

namespace sixfold {

Matrix transposed(const Matrix& matrix) {
  Matrix result{matrix.cols, matrix.rows, std::vector<float>(matrix.values.size()), false};
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.cols; ++c) result.at(c, r) = matrix.at(r, c);
  return result;
}

Matrix WeightReader::take(const std::string& name) {
  const TensorInfo& tensor = tensors_.at(name);
  require(tensor.shape.size() == 1 || tensor.shape.size() == 2,
          "{}: tensor '{}' has the shape [{}]; expected a matrix or vector", tensors_.origin(), name,
          join(tensor.shape));
  require(tensor.dtype == DType::f32 || tensor.dtype == DType::f16 || tensor.dtype == DType::bf16 ||
              tensor.dtype == DType::f64,
          "{}: tensor '{}' is of type {}; only floating-point models are supported, not quantised ones",
          tensors_.origin(), name, name_of(tensor.dtype));
  const bool vector = tensor.shape.size() == 1;
  Matrix matrix{vector ? 1 : tensor.shape[0], tensor.shape.back(), to_floats(tensor), vector};
  require(std::all_of(matrix.values.begin(), matrix.values.end(), [](float x) { return std::isfinite(x); }),
          "{}: tensor '{}' contains values that are not finite; the weights are damaged", tensors_.origin(),
          name);
  taken_.insert(name);
  return matrix;
}

Matrix WeightReader::take(const std::string& name, int64_t rows, int64_t cols) {
  Matrix matrix = take(name);
  require((rows < 0 || matrix.rows == rows) && (cols < 0 || matrix.cols == cols),
          "{}: tensor '{}' has the shape [{}, {}], but the config needs [{}, {}]", tensors_.origin(), name,
          matrix.rows, matrix.cols, rows < 0 ? "any" : std::to_string(rows),
          cols < 0 ? "any" : std::to_string(cols));
  return matrix;
}

void WeightReader::take_copy(const std::string& name, const Matrix& original, const std::string& tied_to) {
  if (has(name))
    require(take(name).values == original.values,
            "{}: tensor '{}' differs from '{}', but the config ties them; correct the keys that tie embeddings "
            "in config.json",
            tensors_.origin(), name, tied_to);
}

void WeightReader::require_all_taken() const {
  for (const std::string& name : tensors_.names())
    require(taken_.contains(name), "{}: tensor '{}' does not belong to any supported part of the model",
            tensors_.origin(), name);
}

Matrix matrix_of(const Parameter& parameter, const Transformer& model) {
  return {parameter.tensor.rows(), parameter.tensor.cols(), parameter.tensor.to_floats(*model.backend()),
          parameter.shape.size() == 1};
}

void write_weights(const std::filesystem::path& path, const NamedMatrices& weights) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, matrix] : weights) {
    std::vector<int64_t> shape{matrix.rows, matrix.cols};
    if (matrix.vector) shape.erase(shape.begin());
    tensors.push_back({name, DType::f32, shape, matrix.values.data()});
  }
  write_safetensors(path, tensors, {{"format", "pt"}});
}

std::unique_ptr<Transformer> build_model(const ModelConfig& config, const NamedMatrices& weights) {
  auto model = std::make_unique<Transformer>(config, make_backend(), DType::f32, std::nullopt);
  for (Parameter& parameter : model->parameters()) {
    const auto found = weights.find(parameter.name);
    require(found != weights.end(), "the weights of {} are missing", parameter.name);
    const Matrix& matrix = found->second;
    require(matrix.rows == parameter.tensor.rows() && matrix.cols == parameter.tensor.cols(),
            "{}: the weights have the shape [{}, {}], but the model needs [{}, {}]", parameter.name,
            matrix.rows, matrix.cols, parameter.tensor.rows(), parameter.tensor.cols());
    parameter.tensor.copy_from(*model->backend(), matrix.values);
  }
  require(weights.size() == model->parameters().size(), "there are weights without a parameter in the model");
  return model;
}

}  // namespace sixfold
