#pragma once
#include "model/layers.h"

namespace sixfold {

/// Section 3.2.2: MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O with head_i = Attention(Q W_i^Q, K
/// W_i^K, V W_i^V). The heads' projections lie side by side in one matrix each; d_k and d_v are free.
class MultiHeadAttention {
 public:
  /// Weights are named `name` within `make`'s place.
  MultiHeadAttention(ParameterBuilder make, const std::string& name, const Architecture& a);

  /// x: [k, d_model] -> its keys and values, without a pattern.
  KeyValues project(const Tensor& x, Context& context) const;
  /// x: [q, d_model] -> [q, d_model]. `kind` is what an observer is told.
  Tensor operator()(const Tensor& x, const KeyValues& seen, AttentionKind kind, LayerContext& c) const;

 private:
  std::string name_;
  Linear query_, key_, value_, out_;
  int heads_;
  double dropout_;
};

/// Section 3.2.3: the tokens of a sequence attend to those of their own that they may see.
class SelfAttention {
 public:
  SelfAttention(ParameterBuilder make, const Architecture& a) : attention_(make, "self_attn", a) {}
  /// x: [tokens, d_model] -> [tokens, d_model].
  Tensor operator()(const Tensor& x, LayerContext& c) const {
    return attention_(x, c.tokens.extend(c.layer, attention_.project(x, c.context)), c.kind, c);
  }

 private:
  MultiHeadAttention attention_;
};

/// Section 3.2.3: the tokens of the target attend to the encoder's output.
class CrossAttention {
 public:
  CrossAttention(ParameterBuilder make, const Architecture& a) : attention_(make, "encoder_attn", a) {}
  /// The encoder's output [source tokens, d_model] as keys and values, without a pattern.
  KeyValues project_memory(const Tensor& encoder_output, Context& context) const {
    return attention_.project(encoder_output, context);
  }
  /// x: [target tokens, d_model] -> [target tokens, d_model].
  Tensor operator()(const Tensor& x, LayerContext& c) const {
    return attention_(x, c.memory[static_cast<size_t>(c.layer)], AttentionKind::cross, c);
  }

 private:
  MultiHeadAttention attention_;
};

}  // namespace sixfold
