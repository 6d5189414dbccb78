#include "ops/check.h"
#include "ops/ops.h"
#include "ops/products.h"

namespace sixfold::ops {

Tensor linear(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_shape("linear", "weight", weight, -1, x.cols());
  if (bias) check_shape("linear", "bias", bias, 1, weight.rows());
  Tensor y = context.tensor(x.rows(), weight.rows(), x.dtype());
  multiply_weight(context, y, x, weight, {.bias = bias.view()});
  if (context.track(y, {x, weight, bias}))
    context.record("linear", y, {x, weight}, [&context, x, weight, bias, y] {
      weight_gradients(context, x, y.gradient(), weight, bias);
      input_gradient(context, x, y.gradient(), weight);
    });
  return y;
}

}  // namespace sixfold::ops
