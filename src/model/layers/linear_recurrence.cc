#include "model/layers/linear_recurrence.h"

namespace sixfold {
namespace {

/// Runs `ops::linear_recurrence` from the state before the new tokens, and stores the new states.
Tensor continue_recurrence(const Tensor& value, const Tensor& gate, LayerContext& c) {
  const StateRows before = c.state.before(c.layer);
  const Tensor rows = before.parts.empty() ? Tensor() : before.parts[0];
  Tensor states = ops::linear_recurrence(c.context, value, gate, c.rows, {rows, before.pattern});
  c.state.append(c.layer, {&states, 1});
  return states;
}

}  // namespace

SimpleRecurrentUnit::SimpleRecurrentUnit(ParameterBuilder make, const Architecture& a)
    : d_model_(a.d_model),
      forget_(make.in("ssru.forget"), a.d_model, a.d_model),
      value_(make.in("ssru.value"), a.d_model, a.d_model, Initial::xavier, /*bias=*/false) {}

Tensor SimpleRecurrentUnit::operator()(const Tensor& x, LayerContext& c) const {
  Context::Scope scope(c.context, "ssru");
  const Tensor gate = forget_(x, c.context), value = value_(x, c.context);
  return ops::activate(c.context, continue_recurrence(value, gate, c), Activation::relu);
}

AverageAttention::AverageAttention(ParameterBuilder make, const Architecture& a)
    : d_model_(a.d_model), gates_(make.in("average.gates"), 2 * d_model_, 2 * d_model_) {}

Tensor AverageAttention::operator()(const Tensor& x, LayerContext& c) const {
  Context::Scope scope(c.context, "average");
  const Tensor average = continue_recurrence(x, {}, c);
  const Tensor gates = gates_(ops::concatenate(c.context, x, average), c.context);
  return ops::gated_sum(c.context, gates, x, average);
}

}  // namespace sixfold
