#include "ops/check.h"
#include "ops/ops.h"
#include "ops/products.h"

namespace sixfold::ops {

Tensor linear(Pass& pass, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_shape("linear", "weight", weight, -1, x.cols());
  if (bias) check_shape("linear", "bias", bias, 1, weight.rows());
  Tensor y = pass.tensor(x.rows(), weight.rows(), x.dtype());
  multiply_weight(pass, y, x, weight, {.bias = bias.view()});
  if (pass.track(y, {x, weight, bias}))
    pass.record("linear", y, [&pass, x, weight, bias, y] {
      weight_gradients(pass, x, y.gradient(), weight, bias);
      input_gradient(pass, x, y.gradient(), weight);
    });
  return y;
}

}  // namespace sixfold::ops
