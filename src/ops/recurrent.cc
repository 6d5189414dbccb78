#include <algorithm>
#include <numeric>

#include "ops/check.h"
#include "ops/ops.h"
#include "ops/pass_back.h"
#include "ops/products.h"

namespace sixfold::ops {
namespace {

/// A weight that is the right operand of the products of many steps. It is packed once for all of them.
class StepWeight {
 public:
  StepWeight(const Context& context, const Tensor& weight, bool transposed, size_t steps)
      : context_(context), weight_(weight), transposed_(transposed) {
    if (transposed && !context.recording()) packed_ = weight.packed();
    if (packed_ || steps < 2 || weight.dtype() != DType::f32) return;
    Backend& backend = context.backend();
    const auto floats = static_cast<int64_t>(backend.packed_bytes(weight.view(), transposed) / sizeof(float));
    memory_ = context.tensor(1, std::max<int64_t>(floats, 1), DType::f32);
    owned_ = backend.pack(weight.view(), transposed, memory_.view().data);
    packed_ = owned_.get();
  }
  /// result = a weight^T, or a weight, then plus `bias`.
  void multiply(const View& a, const View& result, bool accumulate, const View& bias = {}) const {
    context_.backend().run(kernel::Matmul{.result = result,
                                          .a = a,
                                          .b = packed_ ? View{} : weight_.view(),
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
  std::shared_ptr<PackedWeight> owned_;
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

/// The inputs and results of the forward pass, which the backward pass reads. Rows are in the order of the
/// steps.
struct ForwardPass {
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

/// Computes the products of the previous states, and adds them to those of the inputs, or for gru stores them
/// separately. An int8 product can't be accumulated, so it is computed in `product_buffer` first.
void add_recurrent_product(Context& context, const ForwardPass& pass, const StepWeight& weight, size_t t,
                           const Tensor& product_buffer) {
  const TimeSteps& steps = *pass.in.steps;
  const View previous = previous_rows(pass.state, pass.in.state, steps, t);
  if (!previous) return;
  if (pass.in.cell == RecurrentCell::gru)
    return weight.multiply(previous, step_rows(pass.recurrent, steps, t), false, pass.in.bias.view());
  const View gates = step_rows(pass.gates, steps, t);
  if (!weight.is_int8()) return weight.multiply(previous, gates, true);
  const View product = product_buffer.view().slice_rows(0, gates.rows);
  weight.multiply(previous, product, false);
  context.backend().run(kernel::Add{gates, gates, product});
}

/// x in the order of the steps. It may be x itself.
Tensor in_step_order(const Context& context, const Tensor& x, const TimeSteps& steps) {
  if (!steps.from_packed) return x;
  Tensor rows = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::GatherRows{rows.view(), x.view(), steps.from_packed.ids()});
  return rows;
}

/// x in the order of the batch, given in that of the steps. It may be x itself.
Tensor in_batch_order(const Context& context, const Tensor& x, const TimeSteps& steps) {
  if (!x || !steps.to_packed) return x;
  Tensor rows = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::GatherRows{rows.view(), x.view(), steps.to_packed.ids()});
  return rows;
}

/// [rows, d]: the previous states, zeros where there is none, for the gradient of the weight.
Tensor previous_states(const Context& context, const ForwardPass& pass) {
  const TimeSteps& steps = *pass.in.steps;
  Tensor previous = context.tensor(pass.state.rows(), pass.state.cols(), pass.state.dtype());
  for (size_t t = 0; t < steps.steps(); ++t) {
    const View to = step_rows(previous, steps, t);
    if (const View from = previous_rows(pass.state, pass.in.state, steps, t))
      context.backend().run(kernel::Scale{to, from, 1});
    else
      context.backend().run(kernel::Fill{to, 0});
  }
  return in_batch_order(context, previous, steps);
}

/// gradient of weight += the gradients of the products times the previous states. `grad_products` is in the
/// order of the batch, so that the sum over a batch is that over its parts.
void add_weight_gradients(const Context& context, const ForwardPass& pass, const Tensor& grad_products) {
  if (pass.in.weight.requires_grad())
    weight_gradients(context, previous_states(context, pass), grad_products, pass.in.weight, {});
  if (!pass.in.bias) return;
  if (const auto grad = context.gradient_of(pass.in.bias); grad.view)
    context.backend().run(kernel::ColumnSum{grad.view, grad_products.view(), grad.accumulate});
}

/// Backpropagation through time: the gradient of a step's state is the sum of that through its uses outside of
/// the cell and that through the next step.
void backward(const Context& context, const ForwardPass& pass, const Tensor& grad_output) {
  const TimeSteps& steps = *pass.in.steps;
  const bool gru = pass.in.cell == RecurrentCell::gru, lstm = pass.in.cell == RecurrentCell::lstm;
  const int64_t d = pass.state.cols();
  const DType dtype = pass.state.dtype();
  const Tensor grad_state = in_step_order(context, grad_output, steps);
  const Tensor gates = context.tensor(pass.gates.rows(), pass.gates.cols(), dtype);
  const Tensor recurrent = gru ? context.tensor(pass.recurrent.rows(), pass.recurrent.cols(), dtype) : Tensor();
  const Tensor carried = context.zeros(steps.sequences, d, dtype);
  const Tensor carried_memory = lstm ? context.zeros(steps.sequences, d, dtype) : Tensor();
  const Tensor& products = gru ? recurrent : gates;
  const StepWeight weight(context, pass.in.weight, false, steps.steps());
  const auto first_rows = [&](const Tensor& x, size_t t) {
    return x ? x.view().slice_rows(0, steps.count(t)) : View{};
  };
  for (size_t t = steps.steps(); t-- > 0;) {
    context.backend().run(kernel::RecurrentStepGradient{.forward = pass.step(t),
                                                        .grad_state = step_rows(grad_state, steps, t),
                                                        .carried_state = first_rows(carried, t),
                                                        .carried_memory = first_rows(carried_memory, t),
                                                        .grad_gates = step_rows(gates, steps, t),
                                                        .grad_recurrent = step_rows(recurrent, steps, t)});
    if (t > 0 || pass.in.state) weight.multiply(step_rows(products, steps, t), first_rows(carried, t), gru);
  }
  const Tensor grad_gates = in_batch_order(context, gates, steps);
  add_weight_gradients(context, pass, gru ? in_batch_order(context, recurrent, steps) : grad_gates);
  pass_back(context, pass.in.gates, grad_gates.view());
  for (const auto& [initial, grad] : {std::pair(pass.in.state, carried), {pass.in.memory, carried_memory}})
    pass_back(context, initial, grad.view());
}

/// The inputs of the gates in the order of the steps, to be overwritten by the activations.
Tensor activations(Context& context, const RecurrentInputs& in) {
  if (in.steps->from_packed) {
    Tensor rows = in_step_order(context, in.gates, *in.steps);
    if (!in.gates.kept()) in.gates.take();  // frees the memory
    return rows;
  }
  const View gates = in.gates.view();
  Tensor result = context.overwrite(in.gates);
  if (result.view().data != gates.data) context.backend().run(kernel::Scale{result.view(), gates, 1});
  return result;
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
  const auto tensor_if = [&](bool needed, int64_t width) {
    return needed ? context.tensor(rows, width, dtype) : Tensor();
  };
  const bool gru = in.cell == RecurrentCell::gru;
  ForwardPass pass{.in = in,
                   .gates = activations(context, in),
                   .recurrent = tensor_if(gru, in.gates.cols()),
                   .state = tensor_if(true, d),
                   .memory = tensor_if(in.cell == RecurrentCell::lstm, d)};
  // gru adds its bias to the product of each step, even if the previous state is zero.
  if (gru && !in.state) pass.in.state = context.zeros(in.steps->sequences, d, dtype);
  const StepWeight weight(context, in.weight, true, in.steps->steps());
  const Tensor product_buffer =
      weight.is_int8() ? context.tensor(in.steps->sequences, in.gates.cols(), dtype) : Tensor();
  for (size_t t = 0; t < in.steps->steps(); ++t) {
    add_recurrent_product(context, pass, weight, t, product_buffer);
    context.backend().run(pass.step(t));
  }
  const Tensor state = in_batch_order(context, pass.state, *in.steps);
  if (context.track(state, {in.gates, in.weight, in.bias, in.state, in.memory}))
    context.record("recurrent", state,
                   {pass.gates, pass.recurrent, pass.state, pass.memory, in.weight, in.state, in.memory},
                   [&context, pass, state] { backward(context, pass, state.gradient()); });
  return {state, in_batch_order(context, pass.memory, *in.steps)};
}

}  // namespace sixfold::ops
