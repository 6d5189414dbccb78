#include <algorithm>
#include <functional>
#include <optional>

#include "ops/check.h"
#include "ops/ops.h"
#include "ops/products.h"

namespace sixfold::ops {
namespace {

constexpr int64_t chunk_elements = int64_t{1} << 21;  // logits at a time: 8 MB, some hundreds of rows

/// The output weights packed for a context that records: all chunks use them, in the forward and the backward
/// pass.
class RecordedWeight {
 public:
  RecordedWeight(Context& context, const Tensor& weight, bool transposed) {
    const size_t bytes = context.backend().packed_bytes(weight.view(), transposed);
    if (bytes > 0) memory_ = context.tensor(1, static_cast<int64_t>(bytes / sizeof(float)), DType::f32);
    packed_ = context.backend().pack(weight.view(), transposed, memory_.view().data);
  }
  const PackedWeight* get() const { return packed_.get(); }

 private:
  Tensor memory_;
  std::shared_ptr<PackedWeight> packed_;
};

/// Calls body(begin, count, logits of these rows) for each chunk of rows.
void for_chunks(Context& context, const Tensor& states, const OutputWeights& output,
                const std::function<void(int64_t, int64_t, View)>& body) {
  check_shape("output", "weight", output.weight, -1, states.cols());
  if (output.bias) check_shape("output", "bias", output.bias, 1, output.weight.rows());
  const int64_t vocab = output.weight.rows(), rows = std::clamp<int64_t>(chunk_elements / vocab, 16, 1024);
  const int64_t chunks = (states.rows() + rows - 1) / rows;
  std::optional<RecordedWeight> recorded;
  if (context.recording() && chunks > 1) recorded.emplace(context, output.weight, /*transposed=*/true);
  Tensor logits = context.tensor(std::min(rows, std::max<int64_t>(states.rows(), 1)), vocab, states.dtype());
  for (int64_t begin = 0; begin == 0 || begin < states.rows();
       begin += rows) {  // also once for no rows, to set gradients to zero
    const int64_t count = std::min(rows, states.rows() - begin);
    const View chunk = logits.view().slice_rows(0, count);
    kernel::Matmul product{.result = chunk,
                           .a = states.view().slice_rows(begin, count),
                           .b = output.weight.view(),
                           .transpose_b = true,
                           .epilogue = {.bias = output.bias.view()}};
    if (recorded) product.packed_b = recorded->get();
    if (!context.recording()) product.packed_b = output.weight.packed();
    context.backend().run(product);
    body(begin, count, chunk);
  }
}

}  // namespace

Tensor cross_entropy(Context& context, const Tensor& states, const OutputWeights& output, const Tensor& targets,
                     const LossOptions& options) {
  check_shape("cross_entropy", "targets", targets, 1, states.rows());
  if (options.weights) check_shape("cross_entropy", "weights", options.weights, 1, states.rows());
  Backend& backend = context.backend();
  Tensor losses = context.tensor(1, states.rows(), states.dtype());
  const auto weights = [&](int64_t begin, int64_t count) {
    return options.weights ? options.weights.view().span<const float>().subspan(begin, count)
                           : DeviceSpan<const float>();
  };
  const bool wants = context.track(losses, {states, output.weight, output.bias});
  const auto grad_weight = wants ? context.gradient_of(output.weight) : Context::Slot{};
  const auto grad_bias = wants && output.bias ? context.gradient_of(output.bias) : Context::Slot{};
  const auto grad_states = wants ? context.gradient_of(states) : Context::Slot{};
  std::optional<RecordedWeight> backward;
  if (grad_states.view) backward.emplace(context, output.weight, /*transposed=*/false);
  for_chunks(context, states, output, [&](int64_t begin, int64_t count, View logits) {
    backend.run(kernel::CrossEntropy{.logits = logits,
                                     .targets = targets.ids().subspan(begin, count),
                                     .losses = losses.view().slice_cols(begin, count),
                                     .smoothing = options.label_smoothing,
                                     .scale = options.scale,
                                     .gradient = wants,
                                     .weights = weights(begin, count)});
    if (!wants) return;
    const View x = states.view().slice_rows(begin, count);
    if (grad_weight.view)
      backend.run(kernel::Matmul{.result = grad_weight.view,
                                 .a = logits,
                                 .b = x,
                                 .transpose_a = true,
                                 .accumulate = grad_weight.accumulate || begin > 0});
    if (grad_bias.view)
      backend.run(kernel::ColumnSum{grad_bias.view, logits, grad_bias.accumulate || begin > 0});
    if (grad_states.view)
      backend.run(kernel::Matmul{.result = grad_states.view.slice_rows(begin, count),
                                 .a = logits,
                                 .b = output.weight.view(),
                                 .accumulate = grad_states.accumulate,
                                 .packed_b = backward->get()});
  });
  Tensor sum = context.tensor(1, 1, DType::f64);
  backend.run(kernel::Sum{sum.view(), losses.view()});
  return sum;
}

Tensor log_probability(Context& context, const Tensor& states, const OutputWeights& output,
                       const Tensor& targets) {
  check_shape("log_probability", "targets", targets, 1, states.rows());
  Tensor out = context.tensor(states.rows(), 1, states.dtype());
  for_chunks(context, states, output, [&](int64_t begin, int64_t count, View logits) {
    context.backend().run(kernel::LogProbability{out.view().slice_rows(begin, count), logits,
                                                 targets.ids().subspan(begin, count)});
  });
  return out;
}

Tensor logits(Context& context, const Tensor& states, const OutputWeights& output) {
  Tensor all = context.tensor(states.rows(), output.weight.rows(), states.dtype());
  multiply_weight(context, all, states, output.weight, {.bias = output.bias.view()});
  return all;
}

OutputWeights select_outputs(const std::shared_ptr<Backend>& backend, const OutputWeights& output,
                             std::span<const int32_t> ids) {
  const auto memory = lasting_memory(backend);
  const int64_t count = std::ssize(ids);
  const Tensor chosen = Tensor::of_ids(*backend, memory, ids);
  const auto select = [&](const Tensor& from) {
    Tensor rows(memory, count, from.cols(), from.dtype());
    if (from.dtype() != DType::i8) {
      backend->run(kernel::GatherRows{rows.view(), from.view(), chosen.ids()});
      return rows;
    }
    const Tensor scales(memory, 1, count, DType::f32);
    backend->run(kernel::GatherRows{rows.view(), from.view(), chosen.ids(), scales.view().span<float>()});
    return Tensor::of_int8(rows, scales);
  };
  OutputWeights some{select(output.weight), {}};
  some.weight.set_packed(backend->pack(some.weight.view(), /*transpose_b=*/true));
  if (output.bias) {
    View column = output.bias.view();  // a column: one element in each row
    column.rows = column.cols, column.cols = column.stride = 1;
    some.bias = Tensor(memory, 1, count, output.bias.dtype());
    View to = some.bias.view();
    to.rows = count, to.cols = to.stride = 1;
    backend->run(kernel::GatherRows{to, column, chosen.ids()});
  }
  return some;
}

Candidates top_k(Context& context, const Tensor& states, const OutputWeights& output, int k,
                 const Tensor& banned) {
  require(k >= 1 && k <= output.weight.rows(), "top_k: k is {}, but the vocabulary has {} tokens", k,
          output.weight.rows());
  Tensor ids = context.tensor(states.rows(), k, DType::i32),
         log_probs = context.tensor(states.rows(), k, DType::f32);
  for_chunks(context, states, output, [&](int64_t begin, int64_t count, View logits) {
    context.backend().run(kernel::TopK{.logits = logits,
                                       .k = k,
                                       .ids = ids.view().slice_rows(begin, count),
                                       .log_probs = log_probs.view().slice_rows(begin, count),
                                       .banned = banned.ids()});
  });
  return {.k = k,
          .ids = ids.to_host<int32_t>(context.backend()),
          .log_probs = log_probs.to_host<float>(context.backend())};
}

}  // namespace sixfold::ops
