#pragma once
#include "model/layers/architecture.h"
#include "model/layers/layer_context.h"
#include "model/layers/parameters.h"

namespace sixfold {

/// Section 3.3, equation 2: FFN(x) = max(0, x W1 + b1) W2 + b2, applied to each position. Other activations can
/// replace max(0, .), a gate can multiply it, and the biases can be left out. x: [n, d_model].
class FeedForward {
 public:
  FeedForward(ParameterBuilder make, const Architecture& a);
  Tensor operator()(const Tensor& x, LayerContext& c) const {
    return ops::feed_forward(c.context, x, weights_, c.context.dropout(dropout_, c.rows));
  }

 private:
  static ops::FeedForwardWeights make_weights(ParameterBuilder& make, const Architecture& a);

  ops::FeedForwardWeights weights_;
  double dropout_;
};

}  // namespace sixfold
