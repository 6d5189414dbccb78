#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// Throws an input error unless there is a target for each kind and range, and the ranges have rows, in
/// ascending order.
void check_choices(const RowChoices& choices, int64_t kinds, int64_t rows) {
  check_shape("span_loss", "targets", choices.targets, 1, std::ssize(choices.ranges) * kinds);
  int64_t before = 0;
  for (const RowRange& range : choices.ranges) {
    require(range.begin >= before && range.begin < range.end && range.end <= rows,
            "span_loss: a choice of the rows {} to {}, after row {} and of {} rows", range.begin, range.end,
            before, rows);
    before = range.end;
  }
}

/// Computes the loss of each choice, [1, ranges * kinds]. If `gradient` is set, the scores [kinds, rows] are
/// overwritten by their gradients, which are zero for rows in no range.
void run_losses(Backend& backend, View scores, View losses, const RowChoices& choices,
                const LossOptions& options, bool gradient) {
  const int64_t kinds = scores.rows;
  int64_t done = 0, next = 0;
  const auto clear_until = [&](int64_t row) {
    if (gradient && row > done) backend.run(kernel::Fill{scores.slice_cols(done, row - done), 0});
  };
  for (const RowRange& range : choices.ranges) {
    clear_until(range.begin);
    backend.run(kernel::CrossEntropy{.logits = scores.slice_cols(range.begin, range.end - range.begin),
                                     .targets = choices.targets.ids().subspan(next, kinds),
                                     .losses = losses.slice_cols(next, kinds),
                                     .smoothing = options.label_smoothing,
                                     .scale = options.scale,
                                     .gradient = gradient});
    done = range.end, next += kinds;
  }
  clear_until(scores.cols);
}

}  // namespace

Tensor span_loss(Context& context, const Tensor& states, const Tensor& weight, const RowChoices& choices,
                 const LossOptions& options) {
  check_shape("span_loss", "weight", weight, -1, states.cols());
  check_choices(choices, weight.rows(), states.rows());
  require(!options.second, "span_loss: there is no R-Drop for choices of rows");
  require(options.teacher.weight == 0, "span_loss: there is no teacher for choices of rows");
  Backend& backend = context.backend();
  // One row for each kind of choice, so that the scores of a range lie beside each other.
  Tensor scores = context.tensor(weight.rows(), states.rows(), states.dtype());
  backend.run(
      kernel::Matmul{.result = scores.view(), .a = weight.view(), .b = states.view(), .transpose_b = true});
  Tensor losses = context.tensor(1, choices.targets.cols(), states.dtype());
  const bool needs_gradient = context.track(losses, {states, weight});
  const auto grad_weight = needs_gradient ? context.gradient_of(weight) : Context::Slot{};
  const auto grad_states = needs_gradient ? context.gradient_of(states) : Context::Slot{};
  run_losses(backend, scores.view(), losses.view(), choices, options, needs_gradient);
  if (grad_weight.view)
    backend.run(kernel::Matmul{.result = grad_weight.view,
                               .a = scores.view(),
                               .b = states.view(),
                               .accumulate = grad_weight.accumulate});
  if (grad_states.view)
    backend.run(kernel::Matmul{.result = grad_states.view,
                               .a = scores.view(),
                               .b = weight.view(),
                               .transpose_a = true,
                               .accumulate = grad_states.accumulate});
  Tensor sum = context.tensor(1, 1, DType::f64);
  backend.run(kernel::Sum{sum.view(), losses.view()});
  return sum;
}

}  // namespace sixfold::ops
