#include "model/layers/residual.h"

#include "base/error.h"

namespace sixfold {

std::vector<ProcessStep> process_after_embedding(const Architecture& a) {
  std::vector<ProcessStep> steps = a.postprocess_embedding;
  if (!steps.empty() && steps.front() == ProcessStep::dropout) steps.erase(steps.begin());
  return steps;
}

ProcessSequence::ProcessSequence(ParameterBuilder make, std::vector<ProcessStep> steps, const Architecture& a)
    : steps_(std::move(steps)), dropout_(a.dropout) {
  if (!has_step(steps_, ProcessStep::norm)) return;
  const Tensor weight = make.vector("weight", a.d_model, Initial::ones);
  switch (a.norm) {
    case Norm::layer:
      norm_ = {.weight = weight,
               .bias = make.vector("bias", a.d_model, Initial::zeros),
               .epsilon = a.norm_epsilon,
               .centered = true};
      return;
    case Norm::rms:
      norm_ = {.weight = weight, .bias = {}, .epsilon = a.norm_epsilon, .centered = false};
      return;
    case Norm::batch:
      batch_norm_ =
          ops::BatchNormWeights{.weight = weight,
                                .bias = make.vector("bias", a.d_model, Initial::zeros),
                                .running_mean = make.buffer("running_mean", a.d_model, Initial::zeros),
                                .running_variance = make.buffer("running_var", a.d_model, Initial::ones),
                                .epsilon = a.norm_epsilon,
                                .momentum = a.batch_norm_momentum};
      return;
  }
  throw_unknown("norm", a.norm);
}

/// A batch norm whose weights are frozen uses the running averages in training, too, as it does in decoding.
Tensor ProcessSequence::normalize(const Tensor& x, Context& context) const {
  if (!batch_norm_) return ops::norm(context, x, norm_);
  const bool trains = context.recording() && batch_norm_->weight.requires_grad();
  return ops::batch_norm(context, x, *batch_norm_, trains ? ops::Statistics::batch : ops::Statistics::running);
}

/// The op of the next step applies a dropout, and the op of a norm computes an `add` before it: one fused op
/// computes all three. A batch norm must read all rows first, so that it is a separate op.
Tensor ProcessSequence::operator()(Tensor y, const Tensor& residual, LayerContext& c) const {
  Context& context = c.context;
  PendingDropout pending{std::move(y), {}};
  for (size_t i = 0; i < steps_.size(); ++i) {
    switch (steps_[i]) {
      case ProcessStep::dropout:
        pending.dropout = context.dropout(dropout_, c.rows);
        continue;
      case ProcessStep::norm:
        pending.x = normalize(ops::dropout(context, pending), context);
        break;
      case ProcessStep::add:
        if (i + 1 < steps_.size() && steps_[i + 1] == ProcessStep::norm && !batch_norm_)
          pending.x = ops::residual_norm(context, residual, pending, norm_), ++i;
        else
          pending.x = ops::add(context, residual, ops::dropout(context, pending));
        break;
    }
    pending.dropout = {};
  }
  return ops::dropout(context, pending);
}

}  // namespace sixfold
