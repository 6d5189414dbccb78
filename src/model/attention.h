#pragma once
#include "model/layers.h"

namespace sixfold {

/// What attention looks at: keys and values, and which of them each query sees.
struct KeyValues {
  Tensor keys;    ///< [k, heads * d_k]
  Tensor values;  ///< [k, heads * d_v]
  std::shared_ptr<const ops::AttentionPattern> pattern;
};

/// Section 3.2.2: MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O with head_i = Attention(Q W_i^Q, K
/// W_i^K, V W_i^V). The heads' projections lie side by side in one matrix each; d_k and d_v are free.
class MultiHeadAttention {
 public:
  MultiHeadAttention(ParameterBuilder& make, const std::string& name, const Architecture& a);

  /// x: [k, d_model].
  KeyValues keys_values(const Tensor& x, std::shared_ptr<const ops::AttentionPattern> pattern,
                        Context& context) const;
  /// x: [q, d_model] -> [q, d_model].
  Tensor operator()(const Tensor& x, const KeyValues& memory, const TokenRows& rows, Context& context) const;
  /// The attention weights that x would get: [heads * q, most keys], row head * q + query.
  Tensor weights(const Tensor& x, const KeyValues& memory, Context& context) const;

 private:
  std::string name_;
  Linear query_, key_, value_, out_;
  int heads_;
  double dropout_;
};

}  // namespace sixfold
