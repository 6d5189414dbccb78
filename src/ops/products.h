#pragma once
#include "ops/context.h"

/// The three matrix products of a linear map y = x W^T + b, which several ops use.
namespace sixfold::ops {

/// y = x weight^T, then `epilogue`.
inline void multiply_weight(const Context& context, const Tensor& y, const Tensor& x, const Tensor& weight,
                            const Epilogue& epilogue) {
  kernel::Matmul product{
      .result = y.view(), .a = x.view(), .b = weight.view(), .transpose_b = true, .epilogue = epilogue};
  if (!context.recording()) product.packed_b = weight.packed();
  context.backend().run(product);
}

/// gradient of weight += grad_y^T x; gradient of bias += sum of the rows of grad_y. Operands that need no
/// gradient are skipped.
inline void weight_gradients(const Context& context, const Tensor& x, const Tensor& grad_y,
                             const Tensor& weight, const Tensor& bias) {
  if (const auto grad = context.gradient_of(weight); grad.view)
    context.backend().run(kernel::Matmul{.result = grad.view,
                                         .a = grad_y.view(),
                                         .b = x.view(),
                                         .transpose_a = true,
                                         .accumulate = grad.accumulate});
  if (!bias) return;
  if (const auto grad = context.gradient_of(bias); grad.view)
    context.backend().run(kernel::ColumnSum{grad.view, grad_y.view(), grad.accumulate});
}

/// gradient of x += grad_y weight, if x needs a gradient.
inline void input_gradient(const Context& context, const Tensor& x, const Tensor& grad_y,
                           const Tensor& weight) {
  if (const auto grad = context.gradient_of(x); grad.view)
    context.backend().run(kernel::Matmul{
        .result = grad.view, .a = grad_y.view(), .b = weight.view(), .accumulate = grad.accumulate});
}

}  // namespace sixfold::ops
