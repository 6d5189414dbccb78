#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/config.h"
#include "model/head.h"
#include "model/layer.h"
#include "model/layers/token_embedding.h"
#include "ops/batch.h"

namespace sixfold {

/// The inputs of the decoder besides the token ids.
struct DecoderInput {
  const TokenRows& rows;  ///< rows of the target tokens
  SequenceState& state;   ///< the earlier tokens of their sequences
  /// The encoder's output, projected for each layer; empty without an encoder.
  std::span<const KeyValues> memory;
};

/// The model of the paper (figure 1): an encoder, a decoder, or both. Training, scoring and decoding use the
/// same code; only a context that records computes gradients. Const members may be called from several threads,
/// with one context for each thread. Results are in the backend's memory; no function waits for the kernels.
/// Functions throw an input error for ids outside the vocabulary and for missing parts of the model.
class Transformer {
 public:
  /// Creates a model with random weights that are determined by `seed`; without a seed they are not
  /// initialized. `mixer` creates the mixer of each layer.
  Transformer(const ModelConfig& config, std::shared_ptr<Backend> backend, DType dtype,
              std::optional<uint64_t> seed, const MixerFactory& mixer = make_mixer);

  const ModelConfig& config() const { return config_; }
  /// Replaces the generation settings. They do not affect the states that the model computes, and are saved
  /// with the weights.
  void set_generation(GenerationConfig generation) { config_.generation = std::move(generation); }
  /// Replaces the settings of the task in the same way.
  void set_settings(OptionNode settings) { config_.settings = std::move(settings); }
  std::span<const Parameter> parameters() const { return parameters_; }
  std::span<Parameter> parameters() { return parameters_; }
  /// The state that no gradient trains, such as the running averages of batch norms. It is saved with the
  /// weights and changes only in `Replica::update`.
  std::span<const Parameter> buffers() const { return buffers_; }
  /// The tensors of a model file: the weights, then the buffers. They share their elements with the model.
  std::vector<Parameter> stored() const;
  const std::shared_ptr<Backend>& backend() const { return backend_; }
  /// The type of the computation. Stored weights may have another type.
  DType dtype() const { return dtype_; }
  /// The type in which decoding keeps keys and values: bf16 in a model whose matrices are quantized, whose
  /// activations have fewer bits than that; else `dtype`.
  DType key_value_dtype() const;

  /// Returns the states from which the output is computed: those of the decoder for the whole target, [target
  /// tokens, d_model], or those of the encoder, [source tokens, d_model], if there is no decoder.
  Tensor states(const Batch& batch, Context& context, AttentionObserver* observer = nullptr) const;
  /// Returns the states that the head projects: one row for each label of the batch, [labels, d_model]; without
  /// labels, or if labels select rows, one for each row of `states`. A classifier has one for each sequence.
  Tensor head_input(const Batch& batch, Context& context) const;
  /// Returns the label-smoothed cross entropy (section 5.4), summed over the batch's labels, [1, 1] f64. With
  /// `options.r_drop` the batch passes through the model twice, with different dropout, and the result is the
  /// loss of both passes (Liang et al. 2021, "R-Drop: Regularized Dropout for Neural Networks"). With
  /// `options.link_weight` the loss of guided alignment is added (`GuidedAlignment`), for the layer that aligns
  /// words. If the context records, this also computes the gradients of the states; `Tape::backward` computes
  /// the others.
  Tensor loss(const Batch& batch, const ops::LossOptions& options, Context& context) const;

  /// Runs the encoder: source ids, or values of patches -> output [source tokens, d_model].
  Tensor encode(const IdBatch& source, const TokenRows& rows, Context& context,
                AttentionObserver* observer = nullptr) const;
  /// Projects the encoder's output to keys and values for each decoder layer. `pattern`: the source tokens that
  /// each target token attends to.
  std::vector<KeyValues> project_memory(const Tensor& encoder_output,
                                        const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                        Context& context) const;
  /// Runs the decoder: ids of target tokens -> states [target tokens, d_model].
  Tensor decode(std::span<const int32_t> ids, const DecoderInput& input, Context& context,
                AttentionObserver* observer = nullptr) const;
  /// The state that each layer of the decoder keeps for a token in decoding.
  std::vector<StateShape> decoder_state() const {
    return decoder_ ? decoder_->state() : std::vector<StateShape>();
  }
  /// The projection to logits: over the vocabulary (section 3.4) or the classes, or the two logits with which a
  /// row is the start and the end of an answer.
  const ops::OutputWeights& output() const { return head_->output(); }

  /// Packs the weights of products for contexts that do not record. Must be called again when the weights have
  /// changed. Not thread-safe.
  void pack();
  /// Discards the packed weights.
  void discard_packed();

 private:
  Tensor encode(const IdBatch& source, const TokenRows& rows, std::span<const int32_t> types, Context& context,
                AttentionObserver* observer) const;

  ModelConfig config_;
  std::shared_ptr<Backend> backend_;
  DType dtype_;
  ParameterBuilder builder_;
  std::optional<PatchEmbedding> patches_;  // of a model that reads images
  Tensor source_embedding_, target_embedding_;
  std::optional<Stack> encoder_, decoder_;
  std::unique_ptr<const Head> head_;
  Tensor positions_;  // learned positions that the stacks share, or empty
  std::unique_ptr<const TokenEmbedding> embed_source_, embed_target_;
  std::vector<Parameter> parameters_, buffers_;
};

/// The number of weights of a model; tied embeddings count once. It is 63,082,496 for `base` with the paper's
/// joint vocabulary of 37,000 tokens. No memory is allocated for the weights. Throws an input error if the
/// config is not valid.
int64_t parameter_count(const ModelConfig& config);

/// The number of elements of the model's buffers: the running means and variances of its batch norms.
int64_t buffer_count(const ModelConfig& config);

}  // namespace sixfold
