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

/// Receives the inputs of attention while a model runs. An observer that needs the weights computes them by
/// `ops::attention_weights`, in separate kernel calls, so that observing does not change the bits of the
/// model's results.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  /// Whether `observe_attention` should be called for a layer.
  virtual bool wants(AttentionKind kind, int layer) const = 0;
  /// Receives the inputs of a layer's attention.
  virtual void observe_attention(AttentionKind kind, int layer, const ops::AttentionInputs& inputs,
                                 const ops::AttentionPattern& pattern, Context& context) = 0;
  /// Receives states of a stack, [tokens, d_model], in the backend's memory: for `layer` 0 the input of its
  /// first layer, for n the output of its nth layer, counted from 1. `kind`: encoder or decoder. The states can
  /// be overwritten after the call.
  virtual void observe_states(AttentionKind /*kind*/, int /*layer*/, const Tensor& /*states*/) {}
  /// Whether it has received everything that it needs. If so, a stack may skip its remaining layers, and its
  /// result is then meaningless.
  virtual bool done() const { return false; }
};

/// The inputs of the layers of a stack besides x, in one call of the stack.
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
