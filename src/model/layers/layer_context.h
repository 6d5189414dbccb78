#pragma once
#include <memory>
#include <span>

#include "model/layers/attention_kind.h"
#include "model/layers/sequence_state.h"

namespace sixfold {

/// Keys and values of attention, and the pattern that says which of them each query attends to.
struct KeyValues {
  Tensor keys;    ///< [k, kv_heads * d_k]
  Tensor values;  ///< [k, kv_heads * d_v]
  std::shared_ptr<const ops::AttentionPattern> pattern;
};

/// Sees what attention computes its weights from while a model runs. `ops::attention_weights` computes them by
/// kernel calls of their own, so that observing does not change the bits of the model's results.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  /// Whether it wants the weights of a layer.
  virtual bool wants(AttentionKind kind, int layer) const = 0;
  /// Receives the inputs of a layer's attention.
  virtual void see(AttentionKind kind, int layer, const ops::AttentionInputs& inputs,
                   const ops::AttentionPattern& pattern, Context& context) = 0;
  /// Receives the states of a stack, [tokens, d_model], in the backend's memory: layer 0 are those that its
  /// first layer reads, n those that its layer n, counted from 1, gives. `kind`: encoder or decoder. They can
  /// be overwritten after the call.
  virtual void see_states(AttentionKind /*kind*/, int /*layer*/, const Tensor& /*states*/) {}
  /// Whether it has received everything it wants. If so, a stack may skip its remaining layers, and its result
  /// is then meaningless.
  virtual bool done() const { return false; }
};

/// The inputs of the layers of a stack in one call besides x. Valid during the call.
struct LayerContext {
  Context& context;
  const TokenRows& rows;                   ///< of x
  SequenceState& state;                    ///< the earlier tokens of the sequences of x
  std::span<const KeyValues> memory = {};  ///< the encoder's output, projected for each layer's cross-attention
  AttentionKind kind = AttentionKind::encoder;  ///< encoder or decoder
  AttentionObserver* observer = nullptr;
  int layer = 0;
  Tensor distance_bias = {};  ///< added to the scores of self-attention, the same in all layers; may be empty
};

}  // namespace sixfold
