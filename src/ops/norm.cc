#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// The same elements in rows of `width`.
View in_rows_of(const View& view, int64_t width) {
  return view ? View{view.data, view.dtype, view.rows * (view.cols / width), width, width} : view;
}

/// norm(x + dropout(y)). Without y: norm(x).
Tensor norm_of_sum(Context& context, const Tensor& x, const PendingDropout& y, const NormWeights& norm) {
  check_shape("norm", "weight", norm.weight, 1, -1);
  const int64_t width = norm.weight.cols();
  require(width > 0 && x.cols() % width == 0, "norm: weights of {} features for rows of {}", width, x.cols());
  if (norm.bias) check_shape("norm", "bias", norm.bias, 1, width);
  Tensor out = context.tensor(x.rows(), x.cols(), x.dtype());
  const bool needs_gradient = context.track(out, {x, y.x, norm.weight, norm.bias});
  Tensor statistics = needs_gradient ? context.tensor(x.rows() * (x.cols() / width), 2, x.dtype()) : Tensor();
  const View view_x = in_rows_of(x.view(), width), view_y = in_rows_of(y.x.view(), width);
  const Tensor sum = y.x ? context.overwrite(y.x) : x;
  context.backend().run(kernel::ResidualNorm{.x = view_x,
                                             .y = view_y,
                                             .sum = in_rows_of(sum.view(), width),
                                             .statistics = statistics.view(),
                                             .weight = norm.weight.view(),
                                             .bias = norm.bias.view(),
                                             .out = in_rows_of(out.view(), width),
                                             .epsilon = norm.epsilon,
                                             .centered = norm.centered,
                                             .dropout = y.dropout});
  if (needs_gradient)
    context.record("norm", out, {sum, norm.weight}, [&context, x, y, sum, statistics, norm, out, width] {
      const auto grad_x = context.gradient_of(x);
      const OverwritableGradient grad_y(context, y.x && y.x.requires_grad() ? y.x : Tensor());
      context.backend().run(kernel::ResidualNormGradient{.grad_out = in_rows_of(out.gradient().view(), width),
                                                         .sum = in_rows_of(sum.view(), width),
                                                         .statistics = statistics.view(),
                                                         .weight = norm.weight.view(),
                                                         .grad_x = in_rows_of(grad_x.view, width),
                                                         .grad_y = in_rows_of(grad_y.view(), width),
                                                         .grad_weight = context.summed_gradient_of(norm.weight),
                                                         .grad_bias = context.summed_gradient_of(norm.bias),
                                                         .accumulate_x = grad_x.accumulate,
                                                         .centered = norm.centered,
                                                         .dropout = y.dropout});
      grad_y.accumulate();
    });
  return out;
}

}  // namespace

Tensor norm(Context& context, const Tensor& x, const NormWeights& weights) {
  return norm_of_sum(context, x, {}, weights);
}

Tensor residual_norm(Context& context, const Tensor& x, const PendingDropout& y, const NormWeights& weights) {
  check_shape("residual_norm", "y", y.x, x.rows(), x.cols());
  check_shape("residual_norm", "weight", weights.weight, 1, x.cols());
  return norm_of_sum(context, x, y, weights);
}

}  // namespace sixfold::ops
