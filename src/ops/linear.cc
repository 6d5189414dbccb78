#include "ops/check.h"
#include "ops/ops.h"
#include "ops/products.h"

namespace sixfold::ops {

Tensor linear(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Adapter& adapter) {
  check_shape("linear", "weight", weight, -1, x.cols());
  if (bias) check_shape("linear", "bias", bias, 1, weight.rows());
  check_adapter("linear", adapter, weight);
  Tensor y = context.tensor(x.rows(), weight.rows(), x.dtype());
  multiply_weight(context, y, x, weight, {.bias = bias.view()}, adapter);
  if (context.track(y, {x, weight, bias, adapter.down, adapter.up}))
    context.record("linear", y, {x, weight, adapter.down, adapter.up}, [&context, x, weight, bias, adapter, y] {
      weight_gradients(context, x, y.gradient(), weight, bias, adapter);
      input_gradient(context, x, y.gradient(), weight, adapter);
    });
  return y;
}

}  // namespace sixfold::ops
