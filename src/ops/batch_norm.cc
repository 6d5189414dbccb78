#include <utility>

#include "base/plural.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// Mean and variance, [1, d_model] each.
struct Moments {
  Tensor mean, variance;
};

/// Defers the changes of the running averages. The variance of n rows, for which the squares are divided by n,
/// is on average (n - 1) / n times that of all text; the factor corrects this.
void defer_running_averages(Context& context, const Moments& batch, int64_t rows, const BatchNormWeights& w) {
  const double n = static_cast<double>(rows);
  context.defer({.buffer = w.running_mean, .statistic = batch.mean, .momentum = w.momentum});
  context.defer({.buffer = w.running_variance,
                 .statistic = batch.variance,
                 .momentum = w.momentum,
                 .factor = n / (n - 1)});
}

}  // namespace

Tensor batch_norm(Context& context, const Tensor& x, const BatchNormWeights& weights, Statistics statistics) {
  const bool use_batch_statistics = statistics == Statistics::batch;
  for (const auto& [name, vector] : {std::pair("weight", weights.weight), std::pair("bias", weights.bias),
                                     std::pair("running_mean", weights.running_mean),
                                     std::pair("running_variance", weights.running_variance)})
    check_shape("batch_norm", name, vector, 1, x.cols());
  require(
      !use_batch_statistics || x.rows() > 1,
      "norm: 'batch' normalizes over the tokens of a part of a batch and needs at least 2, but a part has {}; "
      "set data.batch_tokens and data.micro_batch_tokens higher",
      counted(x.rows(), "token"));
  Tensor out = context.tensor(x.rows(), x.cols(), x.dtype());
  const auto vector = [&] { return context.tensor(1, x.cols(), x.dtype()); };
  const Moments used = use_batch_statistics ? Moments{vector(), vector()}
                                            : Moments{weights.running_mean, weights.running_variance};
  context.backend().run(kernel::BatchNorm{.x = x.view(),
                                          .out = out.view(),
                                          .mean = used.mean.view(),
                                          .variance = used.variance.view(),
                                          .weight = weights.weight.view(),
                                          .bias = weights.bias.view(),
                                          .epsilon = weights.epsilon,
                                          .use_batch_statistics = use_batch_statistics});
  if (use_batch_statistics && context.recording()) defer_running_averages(context, used, x.rows(), weights);
  if (context.track(out, {x, weights.weight, weights.bias}))
    context.record("batch_norm", out, {x, weights.weight, used.mean, used.variance},
                   [&context, x, weights, used, out, use_batch_statistics] {
                     const auto grad_x = context.gradient_of(x);
                     context.backend().run(
                         kernel::BatchNormGradient{.grad_out = out.gradient().view(),
                                                   .x = x.view(),
                                                   .mean = used.mean.view(),
                                                   .variance = used.variance.view(),
                                                   .weight = weights.weight.view(),
                                                   .grad_x = grad_x.view,
                                                   .grad_weight = context.summed_gradient_of(weights.weight),
                                                   .grad_bias = context.summed_gradient_of(weights.bias),
                                                   .epsilon = weights.epsilon,
                                                   .use_batch_statistics = use_batch_statistics,
                                                   .accumulate_x = grad_x.accumulate});
                   });
  return out;
}

}  // namespace sixfold::ops
