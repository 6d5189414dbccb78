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

/// A batch norm that is frozen is the function that it is in decoding, as its weights do not change either.
Tensor ProcessSequence::normalize(const Tensor& x, Context& context) const {
  if (!batch_norm_) return ops::norm(context, x, norm_);
  const bool trains = context.recording() && batch_norm_->weight.requires_grad();
  return ops::batch_norm(context, x, *batch_norm_, trains ? ops::Statistics::batch : ops::Statistics::running);
}

/// A dropout is applied by the op of the next step, and an `add` by the op of a norm that follows it: one fused
/// op computes all three. A batch norm has to read all rows first, and stands alone.
Tensor ProcessSequence::operator()(Tensor y, const Tensor& residual, LayerContext& c) const {
  Context& context = c.context;
  PendingDropout now{std::move(y), {}};
  for (size_t i = 0; i < steps_.size(); ++i) {
    switch (steps_[i]) {
      case ProcessStep::dropout:
        now.dropout = context.dropout(dropout_, c.rows);
        continue;
      case ProcessStep::norm:
        now.x = normalize(ops::dropout(context, now), context);
        break;
      case ProcessStep::add:
        if (i + 1 < steps_.size() && steps_[i + 1] == ProcessStep::norm && !batch_norm_)
          now.x = ops::residual_norm(context, residual, now, norm_), ++i;
        else
          now.x = ops::add(context, residual, ops::dropout(context, now));
        break;
    }
    now.dropout = {};
  }
  return ops::dropout(context, now);
}

}  // namespace sixfold
