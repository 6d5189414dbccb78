#pragma once
#include "backend/backend.h"

namespace sixfold {

// Functions that run a fused kernel as a sequence of simpler kernels, for backends that do not implement the
// fused one. The elements then pass through memory more often.

/// The norm of a sum, with y not empty: dropout, addition and a plain norm. The sum is stored in `sum`, or in
/// `out` if `sum` is empty.
void compose(Backend& backend, const kernel::ResidualNorm& n);
/// Its gradient, with grad_y not empty: the gradient of a plain norm is written to grad_y and then distributed
/// to both operands.
void compose(Backend& backend, const kernel::ResidualNormGradient& n);
/// A product with ReLU, or the gradient of ReLU, in its epilogue: the product, then an activation kernel.
void compose(Backend& backend, const kernel::Matmul& m);

}  // namespace sixfold
