#include "model/layers/recurrent.h"

#include <algorithm>
#include <array>

namespace sixfold {
namespace {

/// The states before the new tokens, in the order of `steps`; empty if there are none.
Tensor states_before(const StateRows& before, size_t part, int64_t width, const ops::TimeSteps& steps,
                     DType dtype, Context& context) {
  const Tensor rows = before.parts.empty() ? Tensor() : before.parts[part];
  Tensor states = ops::last_rows(context, rows, *before.pattern, width, dtype);
  if (!states || std::ranges::is_sorted(steps.order)) return states;
  const Tensor order = context.indices(steps.order);
  return ops::gather_rows(context, states, order, order);  // without a gradient, so no inverse is needed
}

}  // namespace

Recurrence::Recurrence(ParameterBuilder make, RecurrentCell cell, int64_t in, int64_t d)
    : cell_(cell),
      input_(make.in("input"), in, gates_of(cell) * d),
      weight_(make.in("hidden").matrix("weight", gates_of(cell) * d, d)),
      bias_(cell == RecurrentCell::gru ? make.in("hidden").vector("bias", gates_of(cell) * d, Initial::zeros)
                                       : Tensor()) {}

ops::RecurrentOutputs Recurrence::run(const Tensor& gates, const Tensor& state, const Tensor& memory,
                                      std::shared_ptr<const ops::TimeSteps> steps, Context& context) const {
  return ops::recurrent(context, {.cell = cell_,
                                  .gates = gates,
                                  .weight = weight_,
                                  .bias = bias_,
                                  .state = state,
                                  .memory = memory,
                                  .steps = std::move(steps)});
}

RecurrentMixer::RecurrentMixer(const ParameterBuilder& make, const Architecture& a, MixerPlace place,
                               RecurrentCell cell)
    : width_(place.stack == AttentionKind::encoder ? a.d_model / 2 : a.d_model),
      forward_(make.in("recurrent"), cell, a.d_model, width_) {
  if (place.stack == AttentionKind::encoder)
    backward_.emplace(make.in("recurrent_backward"), cell, a.d_model, width_);
}

StateShape RecurrentMixer::state() const {
  StateShape shape{.widths = {width_}, .retain = 1};
  if (forward_.cell() == RecurrentCell::lstm) shape.widths.push_back(width_);
  return shape;
}

Tensor RecurrentMixer::both_directions(const Tensor& x, LayerContext& c) const {
  const auto direction = [&](const Recurrence& cell, bool reverse) {
    return cell
        .run(cell.input(x, c.context), {}, {}, ops::time_steps(c.context, c.rows.ragged, reverse), c.context)
        .state;
  };
  const Tensor forward = direction(forward_, false);
  return ops::concatenate(c.context, forward, direction(*backward_, true));
}

Tensor RecurrentMixer::operator()(const Tensor& x, LayerContext& c) const {
  Context::Scope scope(c.context, "recurrent");
  if (backward_) return both_directions(x, c);
  const auto steps = ops::time_steps(c.context, c.rows.ragged, false);
  const StateRows before = c.state.before(c.layer);
  const auto initial = [&](size_t part) {
    return states_before(before, part, width_, *steps, x.dtype(), c.context);
  };
  const bool lstm = forward_.cell() == RecurrentCell::lstm;
  const auto out =
      forward_.run(forward_.input(x, c.context), initial(0), lstm ? initial(1) : Tensor(), steps, c.context);
  if (lstm)
    c.state.append(c.layer, std::array{out.state, out.memory});
  else
    c.state.append(c.layer, std::array{out.state});
  return out.state;
}

BahdanauMixer::BahdanauMixer(const ParameterBuilder& make, const Architecture& a)
    : width_(a.d_model),
      heads_(a.heads),
      kv_heads_(a.key_value_heads()),
      cell_(make.in("recurrent"), RecurrentCell::gru, a.d_model, a.d_model),
      query_(make.in("encoder_attn").in("q_proj"), a.d_model, a.heads * a.key_width(), Initial::projection),
      key_(make.in("encoder_attn").in("k_proj"), a.d_model, kv_heads_ * a.key_width(), Initial::projection),
      value_(make.in("encoder_attn").in("v_proj"), a.d_model, kv_heads_ * a.value_width(), Initial::projection),
      score_weight_(
          make.in("encoder_attn").vector("score_weight", a.heads * a.key_width(), Initial::embedding)),
      context_weight_(make.in("context").matrix("weight", gates_of(RecurrentCell::gru) * a.d_model,
                                                a.heads * a.value_width())) {}

KeyValues BahdanauMixer::project_memory(const Tensor& encoder_output, Context& context) const {
  return {key_(encoder_output, context), value_(encoder_output, context), nullptr};
}

ops::AttentionInputs BahdanauMixer::inputs(const Tensor& states, const KeyValues& memory,
                                           Context& context) const {
  return {.query = query_(states, context),
          .key = memory.keys,
          .value = memory.values,
          .heads = heads_,
          .kv_heads = kv_heads_,
          .score_weight = score_weight_};
}

/// The steps of a batch, and the source tokens that each sequence attends to.
struct BahdanauMixer::Steps {
  std::shared_ptr<const ops::TimeSteps> time;
  std::vector<AttentionSpan> sources;  ///< for each sequence, in the order of `time`; only the keys are used
  const KeyValues& memory;
  std::vector<Tensor> states_before;  ///< the states before each step

  Steps(LayerContext& c)
      : time(ops::time_steps(c.context, c.rows.ragged, false)), memory(c.memory[static_cast<size_t>(c.layer)]) {
    const std::vector<AttentionSpan>& spans = memory.pattern->spans;
    std::vector<size_t>
        span_of;  // for each sequence the index of its span, which hypotheses of a request share
    for (int i = 0; i < c.rows.ragged.sequences(); ++i) {
      size_t span = i == 0 ? 0 : span_of.back();
      if (std::ssize(spans) == c.rows.ragged.sequences()) span = static_cast<size_t>(i);
      while (c.rows.ragged.length(i) > 0 &&
             c.rows.ragged.begin(i) >= spans[span].query_begin + spans[span].query_count)
        ++span;
      span_of.push_back(span);
    }
    for (const int32_t sequence : time->order) sources.push_back(spans[span_of[static_cast<size_t>(sequence)]]);
  }
  /// The pattern of step t. Sequences that have ended are spans without queries, so that the gradients of their
  /// keys become zeros.
  std::shared_ptr<const ops::AttentionPattern> pattern(size_t t, Context& context) const {
    std::vector<AttentionSpan> spans;
    for (const AttentionSpan& source : sources) {
      const auto row = static_cast<int32_t>(spans.size());
      const bool active = row < time->count(t);
      spans.push_back({active ? row : 0, active ? 1 : 0, source.key_begin, source.key_count});
    }
    return ops::attention_pattern(context, std::move(spans), /*causal=*/false, memory.pattern->key_rows);
  }
};

Tensor BahdanauMixer::operator()(const Tensor& x, LayerContext& c) const {
  Context::Scope scope(c.context, "recurrent");
  Context& context = c.context;
  Steps steps(c);
  const ops::TimeSteps& time = *steps.time;
  const Tensor gates = ops::gather_rows(context, cell_.input(x, context), time.from_packed, time.to_packed);
  Tensor state = states_before(c.state.before(c.layer), 0, width_, time, x.dtype(), context);
  if (!state) state = context.zeros(time.sequences, width_, x.dtype());
  std::vector<Tensor> states;
  for (size_t t = 0; t < time.steps(); ++t) {
    const int64_t count = time.count(t);
    // This is done even if no sequence has ended, so that the order in which gradients are added does not
    // depend on the lengths of the sequences.
    if (t > 0 || state.rows() > count) state = ops::slice_rows(context, state, 0, count);
    steps.states_before.push_back(state);
    const Tensor attended =
        ops::attention(context, inputs(state, steps.memory, context), steps.pattern(t, context));
    const Tensor sum = ops::add(context, ops::slice_rows(context, gates, time.begin[t], count),
                                ops::linear(context, attended, context_weight_, {}));
    auto single_step = std::make_shared<ops::TimeSteps>();
    single_step->begin.push_back(count);
    single_step->sequences = count;
    state = cell_.run(sum, state, {}, single_step, context).state;
    states.push_back(state);
  }
  if (states.empty()) return context.tensor(0, width_, x.dtype());
  if (c.observer && c.observer->wants(AttentionKind::cross, c.layer)) observe(steps, c);
  Tensor y = ops::gather_rows(context, ops::join_rows(context, states), time.to_packed, time.from_packed);
  c.state.append(c.layer, std::array{y});
  return y;
}

void BahdanauMixer::observe(const Steps& steps, LayerContext& c) const {
  const Tensor before = ops::gather_rows(c.context, ops::join_rows(c.context, steps.states_before),
                                         steps.time->to_packed, steps.time->from_packed);
  c.observer->observe_attention(AttentionKind::cross, c.layer, inputs(before, steps.memory, c.context),
                                *steps.memory.pattern, c.context);
}

}  // namespace sixfold
