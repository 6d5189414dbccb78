#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "model/layers/adapter_config.h"
#include "ops/ops.h"

namespace sixfold {

/// How the ops read a weight. Packing for products and rounding to int8 follow from it.
enum class ParameterUse {
  product,             ///< [out, in], the transposed right side of products: a linear map
  lookup,              ///< [vocab, d_model], rows are looked up: an embedding
  lookup_and_product,  ///< both: an embedding that the output is projected with too (section 3.4)
  /// Added to states or multiplied with them: a bias, the weights of a norm, learned positions.
  elementwise,
};

/// The part of a model that a weight belongs to. `start.freeze` lists such parts.
enum class ModelPart {
  embeddings,  ///< embeddings, positions and the output projection
  encoder,
  decoder,
  head,  ///< what a head adds to the stacks, besides the output projection of a vocabulary
};

template <>
struct EnumNames<ModelPart> {
  static constexpr std::pair<ModelPart, std::string_view> names[] = {{ModelPart::embeddings, "embeddings"},
                                                                     {ModelPart::encoder, "encoder"},
                                                                     {ModelPart::decoder, "decoder"},
                                                                     {ModelPart::head, "head"}};
};

/// A weight and its properties; or a buffer, which is state that no gradient trains, such as a running average.
struct Parameter {
  std::string name;  ///< its name in a model file: "encoder.layers.0.self_attn.q_proj.weight"
  Tensor tensor;
  std::vector<int64_t> shape;  ///< its shape in a model file: [out, in], or [n] for biases and norms
  ParameterUse use = ParameterUse::elementwise;
  ModelPart part = ModelPart::embeddings;
  bool adapter = false;  ///< a part of an adapter: X.lora_A.weight or X.lora_B.weight, for the map X

  bool in_products() const { return use == ParameterUse::product || use == ParameterUse::lookup_and_product; }
  /// Whether it can be quantized to int8, with a scale for each row.
  bool can_be_int8() const { return use != ParameterUse::elementwise; }
  /// Whether it can be quantized to 4 bits: only products read it.
  bool can_be_int4() const { return use == ParameterUse::product && part != ModelPart::embeddings; }
};

/// Packs a weight that products read (`Backend::pack`); does nothing for others.
void pack(Parameter& parameter, Backend& backend);

/// The initial value of a weight.
enum class Initial {
  xavier,  ///< uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010)
  /// The same, with W_q, W_k and W_v counted as one matrix: +-sqrt(6 / (in + 3 out)). This makes training of
  /// post-norm models more stable.
  projection,
  embedding,  ///< normal with variance 1 / d_model; unit variance after scaling by sqrt(d_model)
  filter,     ///< uniform in +-sqrt(3 / size): `xavier` for `size` inputs and `size` outputs of each feature
  ones,
  zeros,
};

/// Creates the weights of a model. A builder represents a scope in the model: a prefix of names, and a part.
/// Builders that are derived from one another add to the same list. The initial values of a weight depend only
/// on the seed and on its number in the order of creation. For one thread at a time.
class ParameterBuilder {
 public:
  /// Without a seed the weights are not initialized.
  ParameterBuilder(std::shared_ptr<Backend> backend, DType dtype, std::optional<uint64_t> seed,
                   AdapterConfig adapters = {});

  /// Returns a builder for the scope `name` within this one. Names in it begin with `name` and a dot.
  ParameterBuilder in(const std::string& name) const;
  /// Returns a builder for the same scope whose weights belong to `part`.
  ParameterBuilder of(ModelPart part) const;

  /// Creates the weight of a linear map, [out, in].
  Tensor matrix(const std::string& name, int64_t out, int64_t in, Initial initial = Initial::xavier);
  /// Creates an embedding, [rows, d_model].
  Tensor table(const std::string& name, int64_t rows, int64_t d_model, ParameterUse use);
  /// Creates the filters of a depthwise convolution, [size, d_model].
  Tensor filters(const std::string& name, int64_t size, int64_t d_model);
  /// Creates a vector, [1, n]; its shape in a file is [n].
  Tensor vector(const std::string& name, int64_t n, Initial initial);
  /// Creates a buffer of ones or zeros, [1, n], whose shape in a file is [n]. It does not change the numbers of
  /// the weights.
  Tensor buffer(const std::string& name, int64_t n, Initial initial);

  const std::shared_ptr<Backend>& backend() const;
  DType dtype() const;

  /// Creates the adapter of the linear map whose scope this is, or returns an empty one if the config specifies
  /// none for it. `down` is random and `up` is zero, so that it changes nothing yet. Adapters do not change the
  /// numbers of the weights.
  ops::Adapter adapter(int64_t out, int64_t in) const;

  /// Returns all weights created so far, in the order of creation, those of adapters last. Throws an input
  /// error for names of projections that the model does not have.
  std::vector<Parameter> take_parameters();
  /// Returns all buffers created so far, in the order of creation.
  std::vector<Parameter> take_buffers();

 private:
  struct Created;
  Tensor make(const std::string& name, std::vector<int64_t> shape, Initial initial, ParameterUse use);

  std::shared_ptr<Created> created_;
  std::string prefix_;
  ModelPart part_ = ModelPart::embeddings;
};

}  // namespace sixfold
