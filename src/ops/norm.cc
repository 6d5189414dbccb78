#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// norm(x + dropout(y)); y may be empty. `sum`: where x + dropout(y) is stored for the backward pass.
Tensor norm_of_sum(Context& context, const Tensor& x, const Dropped& y, const Tensor& sum,
                   const NormWeights& norm) {
  check_shape("norm", "weight", norm.weight, 1, x.cols());
  if (norm.bias) check_shape("norm", "bias", norm.bias, 1, x.cols());
  Tensor out = context.tensor(x.rows(), x.cols(), x.dtype());
  const bool wants = context.track(out, {x, y.x, norm.weight, norm.bias});
  Tensor statistics = wants ? context.tensor(x.rows(), 2, x.dtype()) : Tensor();
  context.backend().run(kernel::ResidualNorm{.x = x.view(),
                                             .y = y.x.view(),
                                             .sum = sum.view(),
                                             .statistics = statistics.view(),
                                             .weight = norm.weight.view(),
                                             .bias = norm.bias.view(),
                                             .out = out.view(),
                                             .epsilon = norm.epsilon,
                                             .centered = norm.centered,
                                             .dropout = y.dropout});
  if (wants)
    context.record("norm", out, [&context, x, y, sum, statistics, norm, out] {
      const auto grad_x = context.gradient_of(x);
      const bool wants_y = y.x && y.x.requires_grad();
      require(!wants_y || !y.x.gradient() || !sum.same_as(y.x),
              "residual_norm_in_place: y was overwritten, but another op reads it");
      const WrittenGradient grad_y(context, wants_y ? y.x : Tensor());
      context.backend().run(kernel::ResidualNormGradient{.grad_out = out.gradient().view(),
                                                         .sum = sum.view(),
                                                         .statistics = statistics.view(),
                                                         .weight = norm.weight.view(),
                                                         .grad_x = grad_x.view,
                                                         .grad_y = grad_y.view(),
                                                         .grad_weight = context.summed_gradient_of(norm.weight),
                                                         .grad_bias = context.summed_gradient_of(norm.bias),
                                                         .accumulate_x = grad_x.accumulate,
                                                         .centered = norm.centered,
                                                         .dropout = y.dropout});
      grad_y.add();
    });
  return out;
}

}  // namespace

Tensor norm(Context& context, const Tensor& x, const NormWeights& weights) {
  return norm_of_sum(context, x, {}, x, weights);
}

Tensor residual_norm_in_place(Context& context, const Tensor& x, const Dropped& y, const NormWeights& weights) {
  check_shape("residual_norm", "y", y.x, x.rows(), x.cols());
  return norm_of_sum(context, x, y, y.x, weights);
}

Tensor residual_norm(Context& context, const Tensor& x, const Dropped& y, const NormWeights& weights) {
  check_shape("residual_norm", "y", y.x, x.rows(), x.cols());
  const Tensor sum = context.recording() ? context.tensor(x.rows(), x.cols(), x.dtype()) : Tensor();
  return norm_of_sum(context, x, y, sum, weights);
}

}  // namespace sixfold::ops
