#pragma once
#include "ops/context.h"

namespace sixfold::ops {

/// Adds `grad`, with dropout applied, to the gradient of x. Does nothing if x is empty or needs no gradient.
inline void pass_back(const Context& context, const Tensor& x, const View& grad, const Dropout& dropout = {}) {
  if (!x.requires_grad()) return;
  Backend& backend = context.backend();
  if (dropout) {
    const OverwritableGradient share(context, x);
    backend.run(kernel::ApplyDropout{share.view(), grad, dropout});
    return share.accumulate();
  }
  if (const auto slot = context.gradient_of(x); slot.accumulate)
    backend.run(kernel::Add{slot.view, slot.view, grad});
  else
    backend.run(kernel::Scale{slot.view, grad, 1});
}

}  // namespace sixfold::ops
