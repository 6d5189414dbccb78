#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "model/attention_kind.h"
#include "model/config.h"
#include "model/decoder.h"
#include "model/encoder.h"
#include "model/positions.h"

namespace sixfold {

/// Pairs of sequences for the model: the target is given (training, scoring).
struct PairBatch {
  IdBatch source;                       ///< with end symbols
  IdBatch target;                       ///< the decoder's input: begins with the start symbol, -1 for zeros
  std::vector<int32_t> sentences = {};  ///< numbers that key dropout; none: 0, 1, 2, ...
};

/// The model of the paper, figure 1. Training, scoring and decoding run this code; a pass that records trains.
class Transformer {
 public:
  /// With fresh weights; all follow from `seed`. Without one they are not initialised, for the caller to fill.
  Transformer(const ModelConfig& config, std::shared_ptr<Backend> backend, DType dtype,
              std::optional<uint64_t> seed);

  const ModelConfig& config() const { return config_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::shared_ptr<Backend>& backend() const { return backend_; }
  /// What is computed in, which the type of weights may differ from.
  DType dtype() const { return dtype_; }
  const Decoder& decoder() const { return decoder_; }

  /// source ids -> encoder output [source tokens, d_model].
  Tensor encode(const IdBatch& source, const TokenRows& rows, Context& context) const;
  /// ids of target tokens -> decoder states [target tokens, d_model].
  Tensor decode(std::span<const int32_t> ids, const DecoderInput& input, Context& context) const;
  /// Both: the states of given targets [target tokens, d_model].
  Tensor states(const PairBatch& batch, Context& context) const;
  /// The projection that the loss, the log-probabilities and the top k are taken with (section 3.4).
  const ops::OutputWeights& output() const { return output_; }

  /// The attention weights of one layer: for each sentence [heads, target, source] (of self-attention the two
  /// are one).
  std::vector<std::vector<float>> attention(const PairBatch& batch, AttentionKind kind, int layer,
                                            Context& context) const;

  /// Lays the weights out for products without gradients. To be called again when they have changed.
  void pack() const;
  void discard_packed() const;

 private:
  Tensor embed(const Tensor& table, std::span<const int32_t> ids, const TokenRows& rows,
               Context& context) const;

  ModelConfig config_;
  std::shared_ptr<Backend> backend_;
  DType dtype_;
  ParameterBuilder maker_;
  Tensor source_embedding_, target_embedding_;
  Encoder encoder_;
  Decoder decoder_;
  ops::OutputWeights output_;
  PositionTable positions_;
  Tensor learned_positions_;  // [max_positions, d_model] or none
  std::vector<Parameter> parameters_;
};

}  // namespace sixfold
