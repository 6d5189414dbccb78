#pragma once
#include <vector>

#include "model/attention.h"

namespace sixfold {

/// Figure 1 left, one layer: self-attention and feed-forward, each inside dropout, residual and norm.
class EncoderLayer {
 public:
  EncoderLayer(ParameterMaker& make, const Architecture& a);
  /// x: [source tokens, d_model].
  Tensor operator()(const Tensor& x, const TokenRows& rows,
                    const std::shared_ptr<const ops::AttentionPattern>& pattern, Pass& pass) const;
  Tensor attention_weights(const Tensor& x, const std::shared_ptr<const ops::AttentionPattern>& pattern,
                           Pass& pass) const;

 private:
  MultiHeadAttention self_attention_;
  AddNorm self_norm_;
  FeedForward feed_forward_;
  AddNorm feed_forward_norm_;
  double dropout_;
};

/// Section 3.1: a stack of identical layers over the embedded source.
class Encoder {
 public:
  Encoder(ParameterMaker& make, const Architecture& a);
  /// embedded: [source tokens, d_model] -> [source tokens, d_model].
  Tensor operator()(const Tensor& embedded, const TokenRows& rows, Pass& pass) const;
  /// The self-attention weights of a layer.
  Tensor attention_weights(const Tensor& embedded, const TokenRows& rows, int layer, Pass& pass) const;

 private:
  Tensor run(Tensor x, const TokenRows& rows, size_t layers, Pass& pass) const;

  std::vector<EncoderLayer> layers_;
};

}  // namespace sixfold
