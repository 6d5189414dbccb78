#include <algorithm>

#include "ops/check.h"
#include "ops/check_spans.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// The number of rows of the output.
int64_t query_rows(const AttentionPattern& pattern) {
  int64_t rows = 0;
  for (const auto& span : pattern.spans) rows = std::max<int64_t>(rows, span.query_begin + span.query_count);
  return rows;
}

/// The pattern as the kernels read it. Throws an input error if a span exceeds the rows of x.
ConvolutionWindow window_of(const char* op, const Tensor& x, const Window& window,
                            const AttentionPattern& pattern) {
  require(window.size >= 1 && window.left >= 0 && window.left < window.size,
          "{}: a window of {} tokens cannot begin {} tokens to the left", op, window.size, window.left);
  check_spans(op, pattern, query_rows(pattern), x.rows());
  return {.spans = pattern.on_device(),
          .key_rows = pattern.key_rows.ids(),
          .left = window.left,
          .size = window.size};
}

/// Gradients go back to the row that a token was read from, which in whole sequences no other sequence reads.
void require_whole_sequences(const char* op, const Tensor& x, const AttentionPattern& pattern) {
  int64_t tokens = 0;
  for (const auto& span : pattern.spans) {
    require(!pattern.key_rows && span.query_begin == span.key_begin && span.query_count == span.key_count,
            "{}: gradients need whole sequences", op);
    tokens += span.key_count;
  }
  require(tokens == x.rows(), "{}: the sequences have {} tokens, but x has {} rows", op, tokens, x.rows());
}

}  // namespace

Tensor unfold(Context& context, const Tensor& x, const Window& window,
              std::shared_ptr<const AttentionPattern> pattern) {
  const ConvolutionWindow read = window_of("unfold", x, window, *pattern);
  Tensor y = context.tensor(query_rows(*pattern), window.size * x.cols(), x.dtype());
  context.backend().run(kernel::Unfold{y.view(), x.view(), read});
  if (context.track(y, {x})) {
    require_whole_sequences("unfold", x, *pattern);
    context.record("unfold", y, {}, [&context, x, y, read, pattern] {
      const OverwritableGradient grad(context, x);
      context.backend().run(kernel::Fold{grad.view(), y.gradient().view(), read});
      grad.accumulate();
    });
  }
  return y;
}

Tensor depthwise(Context& context, const Tensor& x, const DepthwiseWeights& weights,
                 std::shared_ptr<const AttentionPattern> pattern) {
  check_shape("depthwise", "weight", weights.weight, -1, x.cols());
  if (weights.bias) check_shape("depthwise", "bias", weights.bias, 1, x.cols());
  const Window window{static_cast<int>(weights.weight.rows()), weights.left};
  const ConvolutionWindow read = window_of("depthwise", x, window, *pattern);
  const auto& [weight, bias, left] = weights;
  Tensor y = context.tensor(query_rows(*pattern), x.cols(), x.dtype());
  context.backend().run(kernel::Depthwise{y.view(), x.view(), weight.view(), bias.view(), read});
  if (context.track(y, {x, weight, bias})) {
    require_whole_sequences("depthwise", x, *pattern);
    context.record("depthwise", y, {x, weight}, [&context, x, y, w = weights, read, pattern] {
      Backend& backend = context.backend();
      const View grad_y = y.gradient().view();
      if (const View grad = context.summed_gradient_of(w.weight))
        backend.run(kernel::DepthwiseWeightGradient{grad, grad_y, x.view(), read});
      if (w.bias)
        if (const auto grad = context.gradient_of(w.bias); grad.view)
          backend.run(kernel::ColumnSum{grad.view, grad_y, grad.accumulate});
      if (!x.requires_grad()) return;
      ConvolutionWindow mirrored = read;
      mirrored.left = read.size - 1 - read.left;
      const OverwritableGradient grad(context, x);
      backend.run(kernel::Depthwise{grad.view(), grad_y, w.weight.view(), {}, mirrored, /*flipped=*/true});
      grad.accumulate();
    });
  }
  return y;
}

}  // namespace sixfold::ops
