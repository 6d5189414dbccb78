#pragma once
#include <memory>
#include <span>

#include "model/attention_kind.h"
#include "ops/ops.h"

namespace sixfold {

/// What attention looks at: keys and values, and which of them each query sees.
struct KeyValues {
  Tensor keys;    ///< [k, heads * d_k]
  Tensor values;  ///< [k, heads * d_v]
  std::shared_ptr<const ops::AttentionPattern> pattern;
};

/// What the tokens of a stack see of their own sequences. In training, and in the encoder, the sequences are
/// there at once; in decoding a state holds the tokens so far. This is the only difference between the two.
class KVSource {
 public:
  virtual ~KVSource() = default;
  /// Takes the keys and values of the tokens at hand, returns all that these tokens may see.
  virtual KeyValues extend(int layer, const KeyValues& tokens) = 0;
};

/// Sequences that are there at once. In an encoder each token sees its whole sequence; in a decoder (causal),
/// which then is taught by the right target ("teacher forcing"), itself and those before it.
class WholeSequences final : public KVSource {
 public:
  WholeSequences(const Ragged& rows, bool causal)
      : pattern_(std::make_shared<ops::AttentionPattern>(ops::attention_pattern(rows, rows, causal))) {}
  KeyValues extend(int, const KeyValues& tokens) override { return {tokens.keys, tokens.values, pattern_}; }

 private:
  std::shared_ptr<const ops::AttentionPattern> pattern_;
};

/// Is shown attention weights while a model runs. They are computed by a kernel call of their own: the bits of
/// what the model computes are the same, watched or not.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  virtual bool wants(AttentionKind kind, int layer) const = 0;
  /// weights: [heads * queries, most keys], row head * queries + query.
  virtual void see(AttentionKind kind, int layer, const Tensor& weights) = 0;
  /// It has seen all that it wants: a stack may leave out its remaining layers, and its result then has no
  /// meaning.
  virtual bool done() const { return false; }
};

/// What the layers of a stack are given in one call, besides x. Lives as long as the call.
struct LayerContext {
  Context& context;
  const TokenRows& rows;                   ///< of x
  KVSource& tokens;                        ///< what self-attention sees
  std::span<const KeyValues> memory = {};  ///< the encoder's output, projected for each layer's cross-attention
  AttentionKind kind = AttentionKind::encoder;  ///< of self-attention: the encoder's or the decoder's
  AttentionObserver* observer = nullptr;
  int layer = 0;
};

}  // namespace sixfold
