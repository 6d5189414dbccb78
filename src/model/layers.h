#pragma once
#include <string>

#include "model/config.h"
#include "model/layer_context.h"
#include "model/parameters.h"

namespace sixfold {

/// y = x W^T + b. x: [n, in], y: [n, out].
class Linear {
 public:
  /// Weights are named within `make`'s scope.
  Linear(ParameterBuilder make, int64_t in, int64_t out, Initial initial = Initial::xavier);
  Tensor operator()(const Tensor& x, Context& context) const { return ops::linear(context, x, weight_, bias_); }

 private:
  Tensor weight_, bias_;
};

/// Dropout, residual connection and layer norm, in the order of the config's process sequence.
class ProcessSequence {
 public:
  /// Weights of a norm are named within `make`'s scope.
  ProcessSequence(ParameterBuilder make, std::vector<ProcessStep> steps, const Architecture& a);
  /// y and residual (added by `add`): [n, d_model]. May overwrite y, so if the sequence has an `add`, no other
  /// op may read y.
  Tensor operator()(Tensor y, const Tensor& residual, LayerContext& c) const;

 private:
  std::vector<ProcessStep> steps_;
  ops::NormWeights norm_;
  double dropout_;
};

/// The steps after the sum of embedding and position encoding, without a dropout at the beginning, which the
/// embedding op applies.
std::vector<ProcessStep> process_after_embedding(const Architecture& a);

/// Section 3.1: the residual connection around each sub-layer. The paper's is "Add & Norm" of figure 1,
/// LayerNorm(x + dropout(sublayer(x))). In a pre-norm model it is x + dropout(sublayer(LayerNorm(x))).
class Residual {
 public:
  /// Norms are named `norm` within `make`'s scope.
  Residual(ParameterBuilder make, const std::string& norm, const Architecture& a)
      : before_(make.in(has_step(a.postprocess, ProcessStep::norm) ? norm + "_before" : norm), a.preprocess, a),
        after_(make.in(norm), a.postprocess, a) {}

  /// Returns the input of the sub-layer. x: [n, d_model].
  Tensor input(const Tensor& x, LayerContext& c) const { return before_(x, x, c); }
  /// Combines x and the output y of the sub-layer, both [n, d_model]. May overwrite y.
  Tensor add(const Tensor& x, Tensor y, LayerContext& c) const { return after_(std::move(y), x, c); }

 private:
  ProcessSequence before_, after_;
};

/// Section 3.3, equation 2: FFN(x) = max(0, x W1 + b1) W2 + b2, applied to each position. Other activations can
/// replace max(0, .). x: [n, d_model].
class FeedForward {
 public:
  FeedForward(ParameterBuilder make, const Architecture& a);
  Tensor operator()(const Tensor& x, LayerContext& c) const {
    return ops::feed_forward(c.context, x, weights_, c.context.dropout(dropout_, c.rows));
  }

 private:
  ops::FeedForwardWeights weights_;
  double dropout_;
};

}  // namespace sixfold
