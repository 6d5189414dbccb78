#include "ops/check.h"
#include "ops/ops.h"
#include "ops/products.h"

namespace sixfold::ops {
namespace {

/// What the backward pass needs: `inner` = x W1^T + b1, and `hidden` = dropout(activation(inner)). For ReLU
/// `hidden` suffices and `inner` is empty: `hidden` is zero where ReLU or dropout gave zero, and the gradient
/// is zero in both cases.
struct Kept {
  Tensor inner, hidden;  // [n, d_ff]
};

Kept expand(Context& context, const Tensor& x, const FeedForwardWeights& w, const Dropout& dropout) {
  Backend& backend = context.backend();
  const bool relu = w.activation == Activation::relu;
  const Tensor inner = context.tensor(x.rows(), w.weight1.rows(), x.dtype());
  multiply_weight(context, inner, x, w.weight1, {.bias = w.bias1.view(), .relu = relu});
  Kept kept{{}, inner};
  if (!relu) {
    if (context.recording()) kept = {inner, context.tensor(inner.rows(), inner.cols(), x.dtype())};
    backend.run(kernel::Activate{kept.hidden.view(), inner.view(), w.activation});
  }
  if (dropout) backend.run(kernel::ApplyDropout{kept.hidden.view(), kept.hidden.view(), dropout});
  return kept;
}

/// Returns d loss / d inner, given the gradient of the output.
Tensor inner_gradient(const Context& context, const FeedForwardWeights& w, const Kept& kept,
                      const Tensor& grad_y, const Dropout& dropout) {
  Backend& backend = context.backend();
  Tensor grad = context.tensor(kept.hidden.rows(), kept.hidden.cols(), kept.hidden.dtype());
  kernel::Matmul product{.result = grad.view(), .a = grad_y.view(), .b = w.weight2.view()};
  if (!kept.inner) product.epilogue.relu_of = kept.hidden.view();
  backend.run(product);
  if (kept.inner) {
    if (dropout) backend.run(kernel::ApplyDropout{grad.view(), grad.view(), dropout});
    backend.run(kernel::ActivateGradient{grad.view(), grad.view(), kept.inner.view(), w.activation});
  } else if (dropout) {
    backend.run(kernel::Scale{grad.view(), grad.view(), dropout.keep_scale()});
  }
  return grad;
}

}  // namespace

Tensor feed_forward(Context& context, const Tensor& x, const FeedForwardWeights& w, const Dropout& dropout) {
  check_shape("feed_forward", "weight1", w.weight1, -1, x.cols());
  check_shape("feed_forward", "bias1", w.bias1, 1, w.weight1.rows());
  check_shape("feed_forward", "weight2", w.weight2, -1, w.weight1.rows());
  check_shape("feed_forward", "bias2", w.bias2, 1, w.weight2.rows());
  const Kept kept = expand(context, x, w, dropout);
  Tensor y = context.tensor(x.rows(), w.weight2.rows(), x.dtype());
  multiply_weight(context, y, kept.hidden, w.weight2, {.bias = w.bias2.view()});
  if (context.track(y, {x, w.weight1, w.bias1, w.weight2, w.bias2}))
    context.record("feed_forward", y, [&context, x, w, kept, y, dropout] {
      weight_gradients(context, kept.hidden, y.gradient(), w.weight2, w.bias2);
      const Tensor grad = inner_gradient(context, w, kept, y.gradient(), dropout);
      weight_gradients(context, x, grad, w.weight1, w.bias1);
      input_gradient(context, x, grad, w.weight1);
    });
  return y;
}

}  // namespace sixfold::ops
