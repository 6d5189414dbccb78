#pragma once
#include "model/layers/parameters.h"
#include "ops/ops.h"

namespace sixfold {

/// y = x W^T + b, or without the bias x W^T. x: [n, in], y: [n, out].
class Linear {
 public:
  /// Weights are named within `make`'s scope.
  Linear(ParameterBuilder make, int64_t in, int64_t out, Initial initial = Initial::xavier, bool bias = true);
  Tensor operator()(const Tensor& x, Context& context) const {
    return ops::linear(context, x, weight_, bias_, adapter_);
  }

 private:
  Tensor weight_, bias_;  // the bias may be empty
  ops::Adapter adapter_;
};

}  // namespace sixfold
