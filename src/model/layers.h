#pragma once
#include <string>

#include "model/config.h"
#include "model/parameters.h"
#include "ops/ops.h"

namespace sixfold {

/// y = x W^T + b. x: [n, in], y: [n, out].
class Linear {
 public:
  Linear(ParameterMaker& make, const std::string& name, int64_t in, int64_t out,
         Initial initial = Initial::xavier);
  Tensor operator()(const Tensor& x, Pass& pass) const { return ops::linear(pass, x, weight_, bias_); }

 private:
  Tensor weight_, bias_;
};

/// Section 3.1: "Add & Norm" of figure 1, LayerNorm(x + dropout(sublayer)). x, sublayer: [n, d_model].
class AddNorm {
 public:
  AddNorm(ParameterMaker& make, const std::string& name, const Architecture& a);
  Tensor operator()(const Tensor& x, Dropped&& sublayer, Pass& pass) const {
    return ops::residual_norm(pass, x, std::move(sublayer), weights_);
  }

 private:
  ops::NormWeights weights_;
};

/// Section 3.3, equation 2: FFN(x) = max(0, x W1 + b1) W2 + b2, at each position alike. x: [n, d_model].
class FeedForward {
 public:
  FeedForward(ParameterMaker& make, const Architecture& a);
  Tensor operator()(const Tensor& x, const TokenRows& rows, Pass& pass) const {
    return ops::feed_forward(pass, x, weights_, pass.dropout(dropout_, rows));
  }

 private:
  ops::FeedForwardWeights weights_;
  double dropout_;
};

}  // namespace sixfold
