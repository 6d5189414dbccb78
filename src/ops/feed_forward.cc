#include "ops/check.h"
#include "ops/ops.h"
#include "ops/products.h"

namespace sixfold::ops {

Tensor feed_forward(Pass& pass, const Tensor& x, const FeedForwardWeights& w, const Dropout& dropout) {
  check_shape("feed_forward", "weight1", w.weight1, -1, x.cols());
  check_shape("feed_forward", "bias1", w.bias1, 1, w.weight1.rows());
  check_shape("feed_forward", "weight2", w.weight2, -1, w.weight1.rows());
  check_shape("feed_forward", "bias2", w.bias2, 1, w.weight2.rows());
  Backend& backend = pass.backend();
  Tensor hidden = pass.tensor(x.rows(), w.weight1.rows(), x.dtype());  // [n, d_ff]
  multiply_weight(pass, hidden, x, w.weight1, {.bias = w.bias1.view(), .relu = true});
  if (dropout) backend.dropout(hidden.view(), hidden.view(), dropout);
  Tensor y = pass.tensor(x.rows(), w.weight2.rows(), x.dtype());
  multiply_weight(pass, y, hidden, w.weight2, {.bias = w.bias2.view()});
  if (pass.track(y, {x, w.weight1, w.bias1, w.weight2, w.bias2}))
    pass.record("feed_forward", y, [&pass, &backend, x, w, hidden, y, dropout] {
      weight_gradients(pass, hidden, y.gradient(), w.weight2, w.bias2);
      // What dropout zeroed and what ReLU zeroed is zero in `hidden`: one condition serves both.
      Tensor grad_hidden = pass.tensor(hidden.rows(), hidden.cols(), hidden.dtype());
      backend.matmul({.result = grad_hidden.view(),
                      .a = y.gradient().view(),
                      .b = w.weight2.view(),
                      .epilogue = {.relu_of = hidden.view()}});
      if (dropout) backend.scale(grad_hidden.view(), grad_hidden.view(), dropout.keep_scale());
      weight_gradients(pass, x, grad_hidden, w.weight1, w.bias1);
      input_gradient(pass, x, grad_hidden, w.weight1);
    });
  return y;
}

}  // namespace sixfold::ops
