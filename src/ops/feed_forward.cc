#include "ops/check.h"
#include "ops/ops.h"
#include "ops/products.h"

namespace sixfold::ops {
namespace {

/// The activations that the backward pass needs. Without a gate `inner` = x W1^T + b1 and `hidden` =
/// dropout(activation(inner)). For ReLU `hidden` suffices and `inner` is empty: `hidden` is zero where ReLU or
/// dropout gave zero, and the gradient is zero in both cases. With a gate `inner` = x G^T + g, `linear` = x
/// W1^T + b1, and `hidden` = dropout(activation(inner) * linear).
struct SavedActivations {
  Tensor inner, linear, hidden;  // [n, d_ff]
};

Tensor project(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
               const Adapter& adapter, bool relu = false) {
  Tensor y = context.tensor(x.rows(), weight.rows(), x.dtype());
  multiply_weight(context, y, x, weight, {.bias = bias.view(), .relu = relu}, adapter);
  return y;
}

/// activation(inner), in place if the context does not record.
Tensor activate(Context& context, const Tensor& inner, Activation activation) {
  Tensor hidden = context.recording() ? context.tensor(inner.rows(), inner.cols(), inner.dtype()) : inner;
  context.backend().run(kernel::Activate{hidden.view(), inner.view(), activation});
  return hidden;
}

SavedActivations expand(Context& context, const Tensor& x, const FeedForwardWeights& w,
                        const Dropout& dropout) {
  SavedActivations saved;
  if (w.gate_weight) {
    saved.inner = project(context, x, w.gate_weight, w.gate_bias, w.gate_adapter);
    saved.linear = project(context, x, w.weight1, w.bias1, w.adapter1);
    saved.hidden = activate(context, saved.inner, w.activation);
    const View hidden = saved.hidden.view();
    context.backend().run(kernel::Multiply{hidden, hidden, saved.linear.view()});
  } else if (w.activation == Activation::relu) {
    saved.hidden = project(context, x, w.weight1, w.bias1, w.adapter1, /*relu=*/true);
  } else {
    saved.inner = project(context, x, w.weight1, w.bias1, w.adapter1);
    saved.hidden = activate(context, saved.inner, w.activation);
  }
  if (dropout) context.backend().run(kernel::ApplyDropout{saved.hidden.view(), saved.hidden.view(), dropout});
  return saved;
}

/// Returns d loss / d inner, given the gradient of the output, without a gate.
Tensor inner_gradient(const Context& context, const FeedForwardWeights& w, const SavedActivations& saved,
                      const Tensor& grad_y, const Dropout& dropout) {
  Backend& backend = context.backend();
  Tensor grad = context.tensor(saved.hidden.rows(), saved.hidden.cols(), saved.hidden.dtype());
  Epilogue epilogue;
  if (!saved.inner) epilogue.relu_of = saved.hidden.view();
  multiply_back(context, {grad.view(), false}, grad_y, w.weight2, w.adapter2, epilogue);
  if (saved.inner) {
    if (dropout) backend.run(kernel::ApplyDropout{grad.view(), grad.view(), dropout});
    backend.run(kernel::ActivateGradient{grad.view(), grad.view(), saved.inner.view(), w.activation});
  } else if (dropout) {
    backend.run(kernel::Scale{grad.view(), grad.view(), dropout.keep_scale()});
  }
  return grad;
}

/// The gradients of the two factors of a gate.
struct GateGradients {
  Tensor inner, linear;  // [n, d_ff]
};

GateGradients gate_gradients(const Context& context, const FeedForwardWeights& w, const SavedActivations& saved,
                             const Tensor& grad_y, const Dropout& dropout) {
  Backend& backend = context.backend();
  const auto make = [&] {
    return context.tensor(saved.hidden.rows(), saved.hidden.cols(), saved.hidden.dtype());
  };
  GateGradients grad{make(), make()};
  const View inner = grad.inner.view(), linear = grad.linear.view();
  multiply_back(context, {inner, false}, grad_y, w.weight2, w.adapter2);
  if (dropout) backend.run(kernel::ApplyDropout{inner, inner, dropout});
  backend.run(kernel::Activate{linear, saved.inner.view(), w.activation});
  backend.run(kernel::Multiply{linear, linear, inner});
  backend.run(kernel::Multiply{inner, inner, saved.linear.view()});
  backend.run(kernel::ActivateGradient{inner, inner, saved.inner.view(), w.activation});
  return grad;
}

void check(const Tensor& x, const FeedForwardWeights& w) {
  check_shape("feed_forward", "weight1", w.weight1, -1, x.cols());
  if (w.bias1) check_shape("feed_forward", "bias1", w.bias1, 1, w.weight1.rows());
  check_shape("feed_forward", "weight2", w.weight2, -1, w.weight1.rows());
  if (w.bias2) check_shape("feed_forward", "bias2", w.bias2, 1, w.weight2.rows());
  if (w.gate_weight) check_shape("feed_forward", "gate_weight", w.gate_weight, w.weight1.rows(), x.cols());
  if (w.gate_bias) check_shape("feed_forward", "gate_bias", w.gate_bias, 1, w.weight1.rows());
  check_adapter("feed_forward", w.adapter1, w.weight1);
  check_adapter("feed_forward", w.adapter2, w.weight2);
  check_adapter("feed_forward", w.gate_adapter, w.gate_weight);
}

}  // namespace

Tensor feed_forward(Context& context, const Tensor& x, const FeedForwardWeights& w, const Dropout& dropout) {
  check(x, w);
  const SavedActivations saved = expand(context, x, w, dropout);
  Tensor y = project(context, saved.hidden, w.weight2, w.bias2, w.adapter2);
  const Adapter &one = w.adapter1, &two = w.adapter2, &gate = w.gate_adapter;
  if (context.track(y, {x, w.weight1, w.bias1, w.weight2, w.bias2, w.gate_weight, w.gate_bias, one.down, one.up,
                        two.down, two.up, gate.down, gate.up}))
    context.record(
        "feed_forward", y,
        {x, w.weight1, w.weight2, w.gate_weight, one.down, one.up, two.down, two.up, gate.down, gate.up},
        [&context, x, w, saved, y, dropout] {
          weight_gradients(context, saved.hidden, y.gradient(), w.weight2, w.bias2, w.adapter2);
          if (!w.gate_weight) {
            const Tensor grad = inner_gradient(context, w, saved, y.gradient(), dropout);
            weight_gradients(context, x, grad, w.weight1, w.bias1, w.adapter1);
            return input_gradient(context, x, grad, w.weight1, w.adapter1);
          }
          const GateGradients grad = gate_gradients(context, w, saved, y.gradient(), dropout);
          weight_gradients(context, x, grad.linear, w.weight1, w.bias1, w.adapter1);
          weight_gradients(context, x, grad.inner, w.gate_weight, w.gate_bias, w.gate_adapter);
          input_gradient(context, x, grad.linear, w.weight1, w.adapter1);
          input_gradient(context, x, grad.inner, w.gate_weight, w.gate_adapter);
        });
  return y;
}

}  // namespace sixfold::ops
