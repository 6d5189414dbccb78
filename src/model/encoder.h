#pragma once
#include <vector>

#include "model/attention.h"

namespace sixfold {

/// Figure 1 left, one layer: self-attention and feed-forward, each in its connection.
class EncoderLayer {
 public:
  EncoderLayer(ParameterBuilder& make, const Architecture& a);
  /// x: [source tokens, d_model].
  Tensor operator()(const Tensor& x, const TokenRows& rows,
                    const std::shared_ptr<const ops::AttentionPattern>& pattern, Context& context) const;
  Tensor attention_weights(const Tensor& x, const TokenRows& rows,
                           const std::shared_ptr<const ops::AttentionPattern>& pattern, Context& context) const;

 private:
  MultiHeadAttention self_attention_;
  SublayerConnection self_connection_;
  FeedForward feed_forward_;
  SublayerConnection feed_forward_connection_;
};

/// Section 3.1: a stack of identical layers over the embedded source.
class Encoder {
 public:
  Encoder(ParameterBuilder& make, const Architecture& a);
  /// embedded: [source tokens, d_model] -> [source tokens, d_model].
  Tensor operator()(const Tensor& embedded, const TokenRows& rows, Context& context) const;
  /// The self-attention weights of a layer.
  Tensor attention_weights(const Tensor& embedded, const TokenRows& rows, int layer, Context& context) const;

 private:
  Tensor run(Tensor x, const TokenRows& rows, size_t layers, Context& context) const;

  ProcessSequence postprocess_embedding_;
  std::vector<EncoderLayer> layers_;
  ProcessSequence postprocess_top_;
};

}  // namespace sixfold
