#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/config.h"
#include "model/layer.h"
#include "model/positions.h"
#include "tensor/batch.h"

namespace sixfold {

/// What the decoder decodes from, besides the tokens themselves.
struct DecoderInput {
  const TokenRows& rows;  ///< of the target tokens
  KVSource& tokens;       ///< what they see of their own sequences
  std::span<const KeyValues>
      memory;  ///< the encoder's output, projected for each layer; none without an encoder
};

/// The model of the paper, figure 1: an encoder, a decoder, or both. Training, scoring and decoding run this
/// code; a context that records trains. Const members may be called from several threads.
class Transformer {
 public:
  /// With fresh weights; all follow from `seed`. Without one they are not initialised, for the caller to fill.
  Transformer(const ModelConfig& config, std::shared_ptr<Backend> backend, DType dtype,
              std::optional<uint64_t> seed);

  const ModelConfig& config() const { return config_; }
  std::span<const Parameter> parameters() const { return parameters_; }
  std::span<Parameter> parameters() { return parameters_; }
  const std::shared_ptr<Backend>& backend() const { return backend_; }
  /// What is computed in, which the type of weights may differ from.
  DType dtype() const { return dtype_; }
  bool has_encoder() const { return encoder_.has_value(); }
  bool has_decoder() const { return decoder_.has_value(); }

  /// The states that the output is taken from: the decoder's [target tokens, d_model] given the whole target,
  /// or where there is no decoder the encoder's [source tokens, d_model].
  Tensor states(const Batch& batch, Context& context, AttentionObserver* observer = nullptr) const;
  /// Section 5.4: the label-smoothed cross entropy, summed over the batch's labels. A context that records has
  /// the gradients with respect to the states afterwards; `Tape::backward` does the rest.
  double loss(const Batch& batch, const ops::LossOptions& options, Context& context) const;

  /// source ids -> encoder output [source tokens, d_model].
  Tensor encode(const IdBatch& source, const TokenRows& rows, Context& context,
                AttentionObserver* observer = nullptr) const;
  /// The encoder's output as keys and values of each decoder layer; `pattern` says what target tokens see of
  /// it.
  std::vector<KeyValues> project_memory(const Tensor& encoder_output,
                                        const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                        Context& context) const;
  /// ids of target tokens -> decoder states [target tokens, d_model].
  Tensor decode(std::span<const int32_t> ids, const DecoderInput& input, Context& context,
                AttentionObserver* observer = nullptr) const;
  /// The projection of states to logits (section 3.4).
  const ops::OutputWeights& output() const { return output_; }

  /// Lays the weights of products out for contexts that do not record. To be called again when they have
  /// changed.
  void pack();
  void discard_packed();

 private:
  Tensor embed(const Tensor& table, std::span<const int32_t> ids, const TokenRows& rows,
               Context& context) const;

  ModelConfig config_;
  std::shared_ptr<Backend> backend_;
  DType dtype_;
  ParameterBuilder builder_;
  Tensor source_embedding_, target_embedding_;
  std::optional<Stack> encoder_, decoder_;
  ops::OutputWeights output_;
  PositionTable positions_;
  Tensor learned_positions_;  // [max_positions, d_model] or none
  std::vector<Parameter> parameters_;
};

}  // namespace sixfold
