#pragma once
#include <optional>

#include "model/layers/architecture.h"
#include "model/layers/linear.h"
#include "model/layers/mixer.h"
#include "model/layers/positions.h"

namespace sixfold {

/// Section 3.2.2: MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O with head_i = Attention(Q W_i^Q, K
/// W_i^K, V W_i^V). The projections of all heads are stored side by side in one matrix each. d_k and d_v can be
/// chosen independently of d_model. Heads of queries can share heads of keys and values, scores other than the
/// scaled product are possible, and biases can be omitted.
class MultiHeadAttention {
 public:
  /// Weights are named `name` within `make`'s scope.
  MultiHeadAttention(ParameterBuilder make, const std::string& name, const Architecture& a);

  /// Projects x [k, d_model] to keys and values. Their pattern is null.
  KeyValues project(const Tensor& x, Context& context) const;
  /// The widths of the keys and of the values of a token, all their heads together.
  const std::vector<int64_t>& widths() const { return widths_; }
  /// Options that only self-attention uses.
  struct Extras {
    const ops::NormWeights* query_norm = nullptr;  ///< norm of the queries of each head, or null
    Tensor angles = {};         ///< angles by which queries are rotated, or empty; see `ops::rotate`
    Tensor distance_bias = {};  ///< see `ops::AttentionInputs`
    int window = kernel::Attention::everywhere;
  };
  /// x: [q, d_model] -> [q, d_model]. `kind` is passed to the observer.
  Tensor operator()(const Tensor& x, const KeyValues& seen, AttentionKind kind, LayerContext& c,
                    const Extras& extras) const;

 private:
  std::string name_;
  Linear query_, key_, value_, out_;
  Tensor score_weight_;  // [1, heads * d_k] for additive scores, or empty
  int heads_, kv_heads_;
  bool scaled_;
  std::vector<int64_t> widths_;
  double dropout_;
};

/// Section 3.2.3: the tokens of a sequence attend to tokens of the same sequence, in a decoder only to earlier
/// ones and themselves. Section 4: attention can be restricted to a neighbourhood of r tokens to each side.
class SelfAttention final : public Mixer {
 public:
  /// `window`: r, or `kernel::Attention::everywhere`.
  SelfAttention(const ParameterBuilder& make, const Architecture& a, MixerPlace place, int window);
  StateShape state() const override {
    return {.widths = attention_.widths(), .retain = window_, .keys_and_values = true};
  }
  Reach reach() const override { return reach_; }
  Tensor operator()(const Tensor& x, LayerContext& c) const override;

 private:
  MultiHeadAttention attention_;
  std::optional<ops::NormWeights> query_norm_, key_norm_;  // [1, d_k]
  std::optional<PositionTable> angles_;                    // for rotary positions
  int window_;
  Reach reach_;
};

/// Section 3.2.3: the tokens of the target attend to the encoder's output.
class CrossAttention {
 public:
  CrossAttention(ParameterBuilder make, const Architecture& a) : attention_(make, "encoder_attn", a) {}
  /// Projects the encoder's output [source tokens, d_model] to keys and values. Their pattern is null.
  KeyValues project_memory(const Tensor& encoder_output, Context& context) const {
    return attention_.project(encoder_output, context);
  }
  /// x: [target tokens, d_model] -> [target tokens, d_model].
  Tensor operator()(const Tensor& x, LayerContext& c) const {
    return attention_(x, c.memory[static_cast<size_t>(c.layer)], AttentionKind::cross, c, {});
  }

 private:
  MultiHeadAttention attention_;
};

}  // namespace sixfold
