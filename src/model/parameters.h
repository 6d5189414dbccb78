#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace sixfold {

/// A weight and the name it has in a model file.
struct Parameter {
  std::string name;  ///< "encoder.layers.0.self_attn.q_proj.weight"
  Tensor tensor;
  std::vector<int64_t> shape;  ///< as a model file has it: [out, in], and [n] for biases and norms
};

/// How a weight begins.
enum class Initial {
  xavier,      ///< uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010)
  projection,  ///< the same for W_q, W_k and W_v as one matrix, +-sqrt(6 / (in + 3 out)): post-norm training is
               ///< steadier
  embedding,   ///< normal with variance 1 / d_model: of unit size once scaled by sqrt(d_model)
  ones,
  zeros,
};

/// Makes a model's weights, named by where they are asked for. What a weight begins with depends on the seed
/// and on its place in the order of making alone.
class ParameterBuilder {
 public:
  /// Without a seed the weights are not initialised.
  ParameterBuilder(std::shared_ptr<Backend> backend, DType dtype, std::optional<uint64_t> seed);

  /// A new weight [rows, cols] named `name` within the current prefix.
  Tensor make(const std::string& name, int64_t rows, int64_t cols, Initial initial);
  /// While it lives, names begin with `prefix` and a dot, within the current prefix.
  class Prefix {
   public:
    Prefix(ParameterBuilder& maker, const std::string& prefix) : maker_(maker), length_(maker.prefix_.size()) {
      maker.prefix_ += prefix + ".";
    }
    ~Prefix() { maker_.prefix_.resize(length_); }
    Prefix(const Prefix&) = delete;
    Prefix& operator=(const Prefix&) = delete;

   private:
    ParameterBuilder& maker_;
    size_t length_;
  };

  std::vector<Parameter> take_parameters() { return std::move(parameters_); }

 private:
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Memory> memory_;
  DType dtype_;
  std::optional<uint64_t> seed_;
  std::string prefix_;
  std::vector<Parameter> parameters_;
};

}  // namespace sixfold
