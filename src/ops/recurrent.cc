#include <algorithm>
#include <numeric>

#include "ops/check.h"
#include "ops/ops.h"
#include "ops/pass_back.h"
#include "ops/products.h"

namespace sixfold::ops {
namespace {

/// A weight as the right side of the products of many steps, packed once for all of them.
class StepWeight {
 public:
  StepWeight(const Context& context, const Tensor& weight, bool transposed, size_t steps)
      : context_(context), weight_(weight), transposed_(transposed) {
    if (transposed && !context.recording()) packed_ = weight.packed();
    if (packed_ || steps < 2 || weight.dtype() != DType::f32) return;
    Backend& backend = context.backend();
    const auto floats = static_cast<int64_t>(backend.packed_bytes(weight.view(), transposed) / sizeof(float));
    memory_ = context.tensor(1, std::max<int64_t>(floats, 1), DType::f32);
    own_ = backend.pack(weight.view(), transposed, memory_.view().data);
    packed_ = own_.get();
  }
  /// result = a weight^T, or a weight, then plus `bias`.
  void multiply(const View& a, const View& result, bool accumulate, const View& bias = {}) const {
    context_.backend().run(kernel::Matmul{.result = result,
                                          .a = a,
                                          .b = weight_.view(),
                                          .transpose_b = transposed_,
                                          .accumulate = accumulate,
                                          .packed_b = packed_,
                                          .epilogue = {.bias = bias}});
  }
  bool is_int8() const { return weight_.dtype() == DType::i8 || (packed_ && packed_->dtype == DType::i8); }

 private:
  const Context& context_;
  Tensor weight_, memory_;
  bool transposed_;
  std::shared_ptr<PackedWeight> own_;
  const PackedWeight* packed_ = nullptr;
};

/// The rows of step t.
View step_rows(const Tensor& x, const TimeSteps& steps, size_t t) {
  return x ? x.view().slice_rows(steps.begin[t], steps.count(t)) : View{};
}

/// The rows of the previous step, or of the initial state, of the sequences that take part in step t.
View previous_rows(const Tensor& x, const Tensor& initial, const TimeSteps& steps, size_t t) {
  if (t == 0) return initial ? initial.view().slice_rows(0, steps.count(0)) : View{};
  return x ? x.view().slice_rows(steps.begin[t - 1], steps.count(t)) : View{};
}

/// What the forward pass leaves to the backward pass. Rows are in the order of the steps.
struct Run {
  RecurrentInputs in;
  Tensor gates;      // [rows, gates * d]: the activations
  Tensor recurrent;  // [rows, 3 d] for gru
  Tensor state, memory;

  kernel::RecurrentStep step(size_t t) const {
    const TimeSteps& steps = *in.steps;
    const bool gru = in.cell == RecurrentCell::gru, lstm = in.cell == RecurrentCell::lstm;
    return {.cell = in.cell,
            .gates = step_rows(gates, steps, t),
            .recurrent = step_rows(recurrent, steps, t),
            .previous_state = gru ? previous_rows(state, in.state, steps, t) : View{},
            .previous_memory = lstm ? previous_rows(memory, in.memory, steps, t) : View{},
            .state = step_rows(state, steps, t),
            .memory = step_rows(memory, steps, t)};
  }
};

void check(const RecurrentInputs& in) {
  const int64_t d = in.weight.cols(), blocks = gates_of(in.cell);
  check_shape("recurrent", "weight", in.weight, blocks * d, d);
  check_shape("recurrent", "gates", in.gates, in.steps->begin.back(), blocks * d);
  if (in.bias) check_shape("recurrent", "bias", in.bias, 1, blocks * d);
  for (const Tensor& initial : {in.state, in.memory})
    if (initial) check_shape("recurrent", "initial state", initial, in.steps->sequences, d);
  require(!in.bias || in.cell == RecurrentCell::gru,
          "recurrent: only gru has a bias of its own for the recurrent products");
}

/// The products of the previous states, which are added to those of the inputs, or for gru kept apart. Int8
/// products can't be added to anything.
void add_recurrent_product(Context& context, const Run& run, const StepWeight& weight, size_t t,
                           const Tensor& spare) {
  const TimeSteps& steps = *run.in.steps;
  const View previous = previous_rows(run.state, run.in.state, steps, t);
  if (!previous) return;
  if (run.in.cell == RecurrentCell::gru)
    return weight.multiply(previous, step_rows(run.recurrent, steps, t), false, run.in.bias.view());
  const View gates = step_rows(run.gates, steps, t);
  if (!weight.is_int8()) return weight.multiply(previous, gates, true);
  const View product = spare.view().slice_rows(0, gates.rows);
  weight.multiply(previous, product, false);
  context.backend().run(kernel::Add{gates, gates, product});
}

/// x in the order of the steps. It may be x itself.
Tensor by_steps(const Context& context, const Tensor& x, const TimeSteps& steps) {
  if (!steps.from_packed) return x;
  Tensor rows = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::GatherRows{rows.view(), x.view(), steps.from_packed.ids()});
  return rows;
}

/// x in the order of the batch, given in that of the steps. It may be x itself.
Tensor by_batch(const Context& context, const Tensor& x, const TimeSteps& steps) {
  if (!x || !steps.to_packed) return x;
  Tensor rows = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::GatherRows{rows.view(), x.view(), steps.to_packed.ids()});
  return rows;
}

/// [rows, d]: the previous states, zeros where there is none, for the gradient of the weight.
Tensor previous_states(const Context& context, const Run& run) {
  const TimeSteps& steps = *run.in.steps;
  Tensor previous = context.tensor(run.state.rows(), run.state.cols(), run.state.dtype());
  for (size_t t = 0; t < steps.steps(); ++t) {
    const View to = step_rows(previous, steps, t);
    if (const View from = previous_rows(run.state, run.in.state, steps, t))
      context.backend().run(kernel::Scale{to, from, 1});
    else
      context.backend().run(kernel::Fill{to, 0});
  }
  return by_batch(context, previous, steps);
}

/// gradient of weight += the gradients of the products times the previous states. `grad_products` is in the
/// order of the batch, so that the sum over a batch is that over its parts.
void add_weight_gradients(const Context& context, const Run& run, const Tensor& grad_products) {
  if (run.in.weight.requires_grad())
    weight_gradients(context, previous_states(context, run), grad_products, run.in.weight, {});
  if (!run.in.bias) return;
  if (const auto grad = context.gradient_of(run.in.bias); grad.view)
    context.backend().run(kernel::ColumnSum{grad.view, grad_products.view(), grad.accumulate});
}

/// Backward through time: the gradient of a step's state is that of its own use and that of the next step.
void backward(const Context& context, const Run& run, const Tensor& grad_output) {
  const TimeSteps& steps = *run.in.steps;
  const bool gru = run.in.cell == RecurrentCell::gru, lstm = run.in.cell == RecurrentCell::lstm;
  const int64_t d = run.state.cols();
  const DType dtype = run.state.dtype();
  const Tensor grad_state = by_steps(context, grad_output, steps);
  const Tensor gates = context.tensor(run.gates.rows(), run.gates.cols(), dtype);
  const Tensor recurrent = gru ? context.tensor(run.recurrent.rows(), run.recurrent.cols(), dtype) : Tensor();
  const Tensor carried = context.zeros(steps.sequences, d, dtype);
  const Tensor carried_memory = lstm ? context.zeros(steps.sequences, d, dtype) : Tensor();
  const Tensor& products = gru ? recurrent : gates;
  const StepWeight weight(context, run.in.weight, false, steps.steps());
  const auto first_rows = [&](const Tensor& x, size_t t) {
    return x ? x.view().slice_rows(0, steps.count(t)) : View{};
  };
  for (size_t t = steps.steps(); t-- > 0;) {
    context.backend().run(kernel::RecurrentStepGradient{.forward = run.step(t),
                                                        .grad_state = step_rows(grad_state, steps, t),
                                                        .carried_state = first_rows(carried, t),
                                                        .carried_memory = first_rows(carried_memory, t),
                                                        .grad_gates = step_rows(gates, steps, t),
                                                        .grad_recurrent = step_rows(recurrent, steps, t)});
    if (t > 0 || run.in.state) weight.multiply(step_rows(products, steps, t), first_rows(carried, t), gru);
  }
  const Tensor grad_gates = by_batch(context, gates, steps);
  add_weight_gradients(context, run, gru ? by_batch(context, recurrent, steps) : grad_gates);
  pass_back(context, run.in.gates, grad_gates.view());
  for (const auto& [initial, grad] : {std::pair(run.in.state, carried), {run.in.memory, carried_memory}})
    pass_back(context, initial, grad.view());
}

/// The inputs of the gates in the order of the steps, to be overwritten by the activations.
Tensor activations(Context& context, const RecurrentInputs& in) {
  if (in.steps->from_packed) {
    Tensor rows = by_steps(context, in.gates, *in.steps);
    if (!in.gates.kept()) in.gates.take();  // gives the memory back
    return rows;
  }
  const View gates = in.gates.view();
  Tensor own = context.overwrite(in.gates);
  if (own.view().data != gates.data) context.backend().run(kernel::Scale{own.view(), gates, 1});
  return own;
}

}  // namespace

std::shared_ptr<const TimeSteps> time_steps(Context& context, const Ragged& rows, bool reverse) {
  auto steps = std::make_shared<TimeSteps>();
  steps->sequences = rows.sequences();
  std::vector<int32_t>& order = steps->order;
  order.resize(static_cast<size_t>(rows.sequences()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rows.length(a) > rows.length(b); });
  std::vector<int32_t> packed;
  for (int t = 0; !order.empty() && t < rows.length(order.front()); ++t) {
    for (const int32_t i : order)
      if (t < rows.length(i)) packed.push_back(rows.begin(i) + (reverse ? rows.length(i) - 1 - t : t));
    steps->begin.push_back(std::ssize(packed));
  }
  if (std::is_sorted(packed.begin(), packed.end())) return steps;
  std::vector<int32_t> inverse(packed.size());
  for (size_t r = 0; r < packed.size(); ++r) inverse[static_cast<size_t>(packed[r])] = static_cast<int32_t>(r);
  steps->from_packed = context.indices(packed);
  steps->to_packed = context.indices(inverse);
  return steps;
}

Tensor last_rows(Context& context, const Tensor& x, const AttentionPattern& pattern, int64_t cols,
                 DType dtype) {
  bool any = false;
  for (const AttentionSpan& span : pattern.spans) any = any || span.key_count > 0;
  if (!any) return {};
  Tensor out = context.tensor(std::ssize(pattern.spans), cols, dtype);
  context.backend().run(kernel::LastRows{out.view(), x.view(), pattern.on_device(), pattern.key_rows.ids()});
  return out;
}

RecurrentOutputs recurrent(Context& context, const RecurrentInputs& in) {
  check(in);
  const int64_t rows = in.gates.rows(), d = in.weight.cols();
  const DType dtype = in.gates.dtype();
  const auto own = [&](bool wanted, int64_t width) {
    return wanted ? context.tensor(rows, width, dtype) : Tensor();
  };
  const bool gru = in.cell == RecurrentCell::gru;
  Run run{.in = in,
          .gates = activations(context, in),
          .recurrent = own(gru, in.gates.cols()),
          .state = own(true, d),
          .memory = own(in.cell == RecurrentCell::lstm, d)};
  // gru adds its bias to the product of each step, also to that of a state of zeros.
  if (gru && !in.state) run.in.state = context.zeros(in.steps->sequences, d, dtype);
  const StepWeight weight(context, in.weight, true, in.steps->steps());
  const Tensor spare =
      weight.is_int8() ? context.tensor(in.steps->sequences, in.gates.cols(), dtype) : Tensor();
  for (size_t t = 0; t < in.steps->steps(); ++t) {
    add_recurrent_product(context, run, weight, t, spare);
    context.backend().run(run.step(t));
  }
  const Tensor state = by_batch(context, run.state, *in.steps);
  if (context.track(state, {in.gates, in.weight, in.bias, in.state, in.memory}))
    context.record("recurrent", state,
                   {run.gates, run.recurrent, run.state, run.memory, in.weight, in.state, in.memory},
                   [&context, run, state] { backward(context, run, state.gradient()); });
  return {state, by_batch(context, run.memory, *in.steps)};
}

}  // namespace sixfold::ops
