#pragma once
#include "ops/check.h"
#include "ops/context.h"
#include "ops/ops.h"

/// The three matrix products of a linear map y = x W^T + b, which several ops use. An adapter changes W to
/// W + scale * up down without computing that matrix: its products have rank rows or columns.
namespace sixfold::ops {

/// Throws an input error unless the adapter, if there is one, fits the weight.
inline void check_adapter(const char* op, const Adapter& adapter, const Tensor& weight) {
  if (!adapter) return;
  check_shape(op, "adapter.down", adapter.down, -1, weight.cols());
  check_shape(op, "adapter.up", adapter.up, weight.rows(), adapter.down.rows());
}

/// Returns scale * x down^T, [n, rank].
inline Tensor adapter_input(const Context& context, const Tensor& x, const Adapter& adapter) {
  Tensor inner = context.tensor(x.rows(), adapter.down.rows(), x.dtype());
  context.backend().run(
      kernel::Matmul{.result = inner.view(), .a = x.view(), .b = adapter.down.view(), .transpose_b = true});
  context.backend().run(kernel::Scale{inner.view(), inner.view(), adapter.scale});
  return inner;
}

/// Returns scale * grad_y up, [n, rank].
inline Tensor adapter_gradient(const Context& context, const Tensor& grad_y, const Adapter& adapter) {
  Tensor inner = context.tensor(grad_y.rows(), adapter.up.cols(), grad_y.dtype());
  context.backend().run(kernel::Matmul{.result = inner.view(), .a = grad_y.view(), .b = adapter.up.view()});
  context.backend().run(kernel::Scale{inner.view(), inner.view(), adapter.scale});
  return inner;
}

/// y = x weight^T, then `epilogue`.
inline void multiply_weight(const Context& context, const Tensor& y, const Tensor& x, const Tensor& weight,
                            const Epilogue& epilogue, const Adapter& adapter = {}) {
  const PackedWeight* const packed = context.recording() ? nullptr : weight.packed();
  kernel::Matmul product{.result = y.view(),
                         .a = x.view(),
                         .b = packed ? View() : weight.view(),
                         .transpose_b = true,
                         .packed_b = packed,
                         .epilogue = epilogue};
  if (adapter) {
    const Tensor inner = adapter_input(context, x, adapter);
    context.backend().run(
        kernel::Matmul{.result = y.view(), .a = inner.view(), .b = adapter.up.view(), .transpose_b = true});
    product.accumulate = true;
  }
  context.backend().run(product);
}

/// gradient of weight += grad_y^T x; gradient of bias += sum of the rows of grad_y; the same for the adapter.
/// Operands that need no gradient are skipped.
inline void weight_gradients(const Context& context, const Tensor& x, const Tensor& grad_y,
                             const Tensor& weight, const Tensor& bias, const Adapter& adapter = {}) {
  const auto add_product = [&](const Context::Slot& grad, const Tensor& a, const Tensor& b) {
    context.backend().run(kernel::Matmul{
        .result = grad.view, .a = a.view(), .b = b.view(), .transpose_a = true, .accumulate = grad.accumulate});
  };
  if (const auto grad = context.gradient_of(weight); grad.view) add_product(grad, grad_y, x);
  if (adapter) {
    if (const auto grad = context.gradient_of(adapter.up); grad.view)
      add_product(grad, grad_y, adapter_input(context, x, adapter));
    if (const auto grad = context.gradient_of(adapter.down); grad.view)
      add_product(grad, adapter_gradient(context, grad_y, adapter), x);
  }
  if (!bias) return;
  if (const auto grad = context.gradient_of(bias); grad.view)
    context.backend().run(kernel::ColumnSum{grad.view, grad_y.view(), grad.accumulate});
}

/// result = grad_y weight, or result += it, then `epilogue`.
inline void multiply_back(const Context& context, Context::Slot result, const Tensor& grad_y,
                          const Tensor& weight, const Adapter& adapter, const Epilogue& epilogue = {}) {
  if (adapter) {
    const Tensor inner = adapter_gradient(context, grad_y, adapter);
    context.backend().run(kernel::Matmul{
        .result = result.view, .a = inner.view(), .b = adapter.down.view(), .accumulate = result.accumulate});
    result.accumulate = true;
  }
  context.backend().run(kernel::Matmul{.result = result.view,
                                       .a = grad_y.view(),
                                       .b = weight.view(),
                                       .accumulate = result.accumulate,
                                       .epilogue = epilogue});
}

/// gradient of x += grad_y weight, if x needs a gradient.
inline void input_gradient(const Context& context, const Tensor& x, const Tensor& grad_y, const Tensor& weight,
                           const Adapter& adapter = {}) {
  if (const auto grad = context.gradient_of(x); grad.view)
    multiply_back(context, grad, grad_y, weight, adapter);
}

}  // namespace sixfold::ops
