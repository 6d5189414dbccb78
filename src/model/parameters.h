#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "tensor/tensor.h"

namespace sixfold {

/// How the ops read a weight. Packing for products and rounding to int8 follow from it.
enum class ParameterUse {
  product,             ///< [out, in], the transposed right side of products: a linear map
  lookup,              ///< [vocab, d_model], rows are looked up: an embedding
  lookup_and_product,  ///< both: an embedding that the output is projected with too (section 3.4)
  elementwise,         ///< added to states or multiplied with them: a bias, a norm's weights, learned positions
};

/// The part of a model that a weight belongs to: what `start.freeze` names.
enum class ModelPart {
  embeddings,  ///< embeddings, positions and the output projection
  encoder,
  decoder,
};

template <>
struct EnumNames<ModelPart> {
  static constexpr std::pair<ModelPart, std::string_view> names[] = {
      {ModelPart::embeddings, "embeddings"}, {ModelPart::encoder, "encoder"}, {ModelPart::decoder, "decoder"}};
};

/// A weight and what is known of it.
struct Parameter {
  std::string name;  ///< in a model file: "encoder.layers.0.self_attn.q_proj.weight"
  Tensor tensor;
  std::vector<int64_t> shape;  ///< in a model file: [out, in], and [n] for biases and norms
  ParameterUse use = ParameterUse::elementwise;
  ModelPart part = ModelPart::embeddings;

  bool in_products() const { return use == ParameterUse::product || use == ParameterUse::lookup_and_product; }
  /// Whether int8 may stand for it, a scale for each row.
  bool can_be_int8() const { return use != ParameterUse::elementwise; }
};

/// What a weight begins with.
enum class Initial {
  xavier,      ///< uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010)
  projection,  ///< the same for W_q, W_k and W_v as one matrix, +-sqrt(6 / (in + 3 out)): post-norm training is
               ///< steadier
  embedding,   ///< normal with variance 1 / d_model: of unit size once scaled by sqrt(d_model)
  ones,
  zeros,
};

/// Makes a model's weights. A builder is a place in the model, a name's beginning and a part; all that come
/// from one add to the same list. What a weight begins with depends on the seed and on its place in the order
/// of making alone.
class ParameterBuilder {
 public:
  /// Without a seed the weights are not initialised.
  ParameterBuilder(std::shared_ptr<Backend> backend, DType dtype, std::optional<uint64_t> seed);

  /// Within this place: names begin with `name` and a dot.
  ParameterBuilder in(const std::string& name) const;
  /// The same place; weights belong to `part`.
  ParameterBuilder of(ModelPart part) const;

  /// A linear map's weight [out, in].
  Tensor matrix(const std::string& name, int64_t out, int64_t in, Initial initial = Initial::xavier);
  /// An embedding [rows, d_model].
  Tensor table(const std::string& name, int64_t rows, int64_t d_model, ParameterUse use);
  /// A vector [1, n], [n] in a file, of ones or zeros.
  Tensor vector(const std::string& name, int64_t n, Initial initial);

  /// All that were made, in that order.
  std::vector<Parameter> take_parameters();

 private:
  struct Made;
  Tensor make(const std::string& name, std::vector<int64_t> shape, Initial initial, ParameterUse use);

  std::shared_ptr<Made> made_;
  std::string prefix_;
  ModelPart part_ = ModelPart::embeddings;
};

}  // namespace sixfold
