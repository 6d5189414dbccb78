#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// norm(x + dropout(y)). Without y: norm(x).
Tensor norm_of_sum(Context& context, const Tensor& x, const Dropped& y, const NormWeights& norm) {
  check_shape("norm", "weight", norm.weight, 1, x.cols());
  if (norm.bias) check_shape("norm", "bias", norm.bias, 1, x.cols());
  Tensor out = context.tensor(x.rows(), x.cols(), x.dtype());
  const bool wants = context.track(out, {x, y.x, norm.weight, norm.bias});
  Tensor statistics = wants ? context.tensor(x.rows(), 2, x.dtype()) : Tensor();
  const View view_x = x.view(), view_y = y.x.view();
  const Tensor sum = y.x ? context.overwrite(y.x) : x;
  context.backend().run(kernel::ResidualNorm{.x = view_x,
                                             .y = view_y,
                                             .sum = sum.view(),
                                             .statistics = statistics.view(),
                                             .weight = norm.weight.view(),
                                             .bias = norm.bias.view(),
                                             .out = out.view(),
                                             .epsilon = norm.epsilon,
                                             .centered = norm.centered,
                                             .dropout = y.dropout});
  if (wants)
    context.record("norm", out, {sum, norm.weight}, [&context, x, y, sum, statistics, norm, out] {
      const auto grad_x = context.gradient_of(x);
      const WrittenGradient grad_y(context, y.x && y.x.requires_grad() ? y.x : Tensor());
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
  return norm_of_sum(context, x, {}, weights);
}

Tensor residual_norm(Context& context, const Tensor& x, const Dropped& y, const NormWeights& weights) {
  check_shape("residual_norm", "y", y.x, x.rows(), x.cols());
  return norm_of_sum(context, x, y, weights);
}

}  // namespace sixfold::ops
