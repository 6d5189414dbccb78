#include <algorithm>

#include "ops/check.h"
#include "ops/check_spans.h"
#include "ops/ops.h"

namespace sixfold::ops {

Tensor linear_recurrence(Context& context, const Tensor& value, const Tensor& gate, const TokenRows& rows,
                         const InitialStates& before) {
  const AttentionPattern& pattern = *before.pattern;
  if (gate) check_shape("linear_recurrence", "gate", gate, value.rows(), value.cols());
  if (before.rows) check_shape("linear_recurrence", "states before", before.rows, -1, value.cols());
  check_shape("linear_recurrence", "positions", rows.position, 1, value.rows());
  check_spans("linear_recurrence", pattern, value.rows(), before.rows ? before.rows.rows() : 0);
  int64_t tokens = 0;
  for (const auto& span : pattern.spans) tokens += span.query_count;
  require(tokens == value.rows(), "linear_recurrence: the sequences have {} tokens, but there are {} values",
          tokens, value.rows());
  Tensor states = context.tensor(value.rows(), value.cols(), value.dtype());
  const kernel::LinearRecurrence call{.out = states.view(),
                                      .value = value.view(),
                                      .gate = gate.view(),
                                      .before = before.rows.view(),
                                      .position = rows.position.ids(),
                                      .spans = pattern.on_device(),
                                      .key_rows = pattern.key_rows.ids()};
  context.backend().run(call);
  if (!context.track(states, {value, gate})) return states;
  require(std::ranges::all_of(pattern.spans, [](const AttentionSpan& span) { return span.key_count == 0; }),
          "linear_recurrence: gradients need whole sequences");
  context.record("linear_recurrence", states, {value, gate, states},
                 [&context, value, gate, states, position = rows.position, call, pattern = before.pattern] {
                   const OverwritableGradient grad_value(context, value), grad_gate(context, gate);
                   context.backend().run(kernel::LinearRecurrenceGradient{.forward = call,
                                                                          .grad_out = states.gradient().view(),
                                                                          .grad_value = grad_value.view(),
                                                                          .grad_gate = grad_gate.view()});
                   grad_value.accumulate();
                   grad_gate.accumulate();
                 });
  return states;
}

}  // namespace sixfold::ops
