#pragma once
#include <string>

#include "model/config.h"
#include "model/parameters.h"
#include "ops/ops.h"

namespace sixfold {

/// y = x W^T + b. x: [n, in], y: [n, out].
class Linear {
 public:
  Linear(ParameterBuilder& make, const std::string& name, int64_t in, int64_t out,
         Initial initial = Initial::xavier);
  Tensor operator()(const Tensor& x, Context& context) const { return ops::linear(context, x, weight_, bias_); }

 private:
  Tensor weight_, bias_;
};

/// Dropout, residual connection and norm, in the order that the architecture asks for.
class ProcessSequence {
 public:
  /// The norm, if the steps have one, is named `norm`.
  ProcessSequence(ParameterBuilder& make, const std::string& norm, std::vector<ProcessStep> steps,
                  const Architecture& a);
  /// y, residual (what `add` adds): [n, d_model]. Takes y's memory: y has no other reader where there is an
  /// `add`.
  Tensor operator()(Tensor y, const Tensor& residual, const TokenRows& rows, Context& context) const;

 private:
  std::vector<ProcessStep> steps_;
  ops::NormWeights norm_;
  double dropout_;
};

/// The steps after the sum of embedding and position but for a dropout that comes first: the embedding does it.
std::vector<ProcessStep> process_after_embedding(const Architecture& a);

/// Section 3.1: what stands around each sub-layer. The paper's is "Add & Norm" of figure 1, LayerNorm(x +
/// dropout(sublayer(x))); in a pre-norm model x + dropout(sublayer(LayerNorm(x))).
class SublayerConnection {
 public:
  SublayerConnection(ParameterBuilder& make, const std::string& norm, const Architecture& a)
      : before_(make, has_step(a.postprocess, ProcessStep::norm) ? norm + "_before" : norm, a.preprocess, a),
        after_(make, norm, a.postprocess, a) {}

  /// x: [n, d_model]; `sublayer` makes such a tensor of such a one.
  template <class Sublayer>
  Tensor operator()(const Tensor& x, const TokenRows& rows, Context& context, const Sublayer& sublayer) const {
    return after_(sublayer(input(x, rows, context)), x, rows, context);
  }
  /// What the sub-layer is given.
  Tensor input(const Tensor& x, const TokenRows& rows, Context& context) const {
    return before_(x, x, rows, context);
  }

 private:
  ProcessSequence before_, after_;
};

/// Section 3.3, equation 2: FFN(x) = max(0, x W1 + b1) W2 + b2, at each position alike; other activations can
/// stand for max(0, .). x: [n, d_model].
class FeedForward {
 public:
  FeedForward(ParameterBuilder& make, const Architecture& a);
  Tensor operator()(const Tensor& x, const TokenRows& rows, Context& context) const {
    return ops::feed_forward(context, x, weights_, context.dropout(dropout_, rows));
  }

 private:
  ops::FeedForwardWeights weights_;
  double dropout_;
};

}  // namespace sixfold
