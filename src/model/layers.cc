#include "model/layers.h"

namespace sixfold {

Linear::Linear(ParameterMaker& make, const std::string& name, int64_t in, int64_t out, Initial initial)
    : weight_(make.make(name + ".weight", out, in, initial)),
      bias_(make.make(name + ".bias", 1, out, Initial::zeros)) {}

std::vector<Step> steps_after_embedding(const Architecture& a) {
  std::vector<Step> steps = a.embedding_steps;
  if (!steps.empty() && steps.front() == Step::dropout) steps.erase(steps.begin());
  return steps;
}

Steps::Steps(ParameterMaker& make, const std::string& norm, std::vector<Step> steps, const Architecture& a)
    : steps_(std::move(steps)), dropout_(a.dropout) {
  if (has_step(steps_, Step::norm))
    norm_ = {.weight = make.make(norm + ".weight", 1, a.d_model, Initial::ones),
             .bias = make.make(norm + ".bias", 1, a.d_model, Initial::zeros),
             .epsilon = a.norm_epsilon};
}

/// Dropout waits for the step after it, and `add` for a norm that follows: one op does them together.
Tensor Steps::operator()(Tensor y, const Tensor& residual, const TokenRows& rows, Pass& pass) const {
  Dropped now{std::move(y), {}};
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i] == Step::dropout) {
      now.dropout = pass.dropout(dropout_, rows);
      continue;
    }
    if (steps_[i] == Step::norm)
      now.x = ops::norm(pass, ops::dropout(pass, now), norm_);
    else if (i + 1 < steps_.size() && steps_[i + 1] == Step::norm)
      now.x = ops::residual_norm(pass, residual, std::move(now), norm_), ++i;
    else
      now.x = ops::add(pass, residual, ops::dropout(pass, now));
    now.dropout = {};
  }
  return ops::dropout(pass, now);
}

FeedForward::FeedForward(ParameterMaker& make, const Architecture& a)
    : weights_{.weight1 = make.make("fc1.weight", a.d_ff, a.d_model, Initial::xavier),
               .bias1 = make.make("fc1.bias", 1, a.d_ff, Initial::zeros),
               .weight2 = make.make("fc2.weight", a.d_model, a.d_ff, Initial::xavier),
               .bias2 = make.make("fc2.bias", 1, a.d_model, Initial::zeros),
               .activation = a.activation},
      dropout_(a.activation_dropout) {}

}  // namespace sixfold
