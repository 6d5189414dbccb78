#pragma once
#include "autograd/context.h"

/// The three products of a linear map y = x W^T + b, which several ops are made of.
namespace sixfold::ops {

/// y = x weight^T, then `epilogue`.
inline void multiply_weight(const Context& context, const Tensor& y, const Tensor& x, const Tensor& weight,
                            const Epilogue& epilogue) {
  Matmul product{
      .result = y.view(), .a = x.view(), .b = weight.view(), .transpose_b = true, .epilogue = epilogue};
  if (!context.recording()) product.packed_b = weight.packed();
  context.backend().matmul(product);
}

/// weight's gradient += grad_y^T x, bias's += the sum of grad_y's rows.
inline void weight_gradients(const Context& context, const Tensor& x, const Tensor& grad_y,
                             const Tensor& weight, const Tensor& bias) {
  if (const auto grad = context.gradient_of(weight); grad.view)
    context.backend().matmul({.result = grad.view,
                              .a = grad_y.view(),
                              .b = x.view(),
                              .transpose_a = true,
                              .accumulate = grad.accumulate});
  if (!bias) return;
  if (const auto grad = context.gradient_of(bias); grad.view)
    context.backend().column_sum(grad.view, grad_y.view(), grad.accumulate);
}

/// x's gradient += grad_y weight.
inline void input_gradient(const Context& context, const Tensor& x, const Tensor& grad_y,
                           const Tensor& weight) {
  if (const auto grad = context.gradient_of(x); grad.view)
    context.backend().matmul(
        {.result = grad.view, .a = grad_y.view(), .b = weight.view(), .accumulate = grad.accumulate});
}

}  // namespace sixfold::ops
