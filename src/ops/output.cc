#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ops/check.h"
#include "ops/ops.h"
#include "ops/products.h"

namespace sixfold::ops {
namespace {

constexpr int64_t chunk_elements = int64_t{1}
                                   << 21;  // number of logits in a chunk: 8 MB, some hundreds of rows

/// Output weights that are packed once for all chunks of a call, in the memory of its context.
class OwnPackedWeight {
 public:
  OwnPackedWeight(Context& context, const Tensor& weight, bool transposed) {
    const size_t bytes = context.backend().packed_bytes(weight.view(), transposed);
    if (bytes > 0) memory_ = context.tensor(1, static_cast<int64_t>(bytes / sizeof(float)), DType::f32);
    packed_ = context.backend().pack(weight.view(), transposed, memory_.view().data);
  }
  const PackedWeight* get() const { return packed_.get(); }

 private:
  Tensor memory_;
  std::shared_ptr<PackedWeight> packed_;
};

/// Calls body(begin, count, logits of these rows) for each chunk of rows of one or several states of one shape.
void for_each_chunk(Context& context, std::span<const Tensor> passes, const OutputWeights& output,
                    const std::function<void(int64_t, int64_t, std::span<const View>)>& body) {
  const Tensor& states = passes[0];
  check_shape("output", "weight", output.weight, -1, states.cols());
  if (output.bias) check_shape("output", "bias", output.bias, 1, output.weight.rows());
  const int64_t vocab = output.weight.rows(), rows = std::clamp<int64_t>(chunk_elements / vocab, 16, 1024);
  const int64_t chunks = (states.rows() + rows - 1) / rows;
  const PackedWeight* packed = context.recording() ? nullptr : output.weight.packed();
  std::optional<OwnPackedWeight> own;
  if (!packed && chunks * std::ssize(passes) > 1)
    packed = own.emplace(context, output.weight, /*transposed=*/true).get();
  std::vector<Tensor> logits;
  for (size_t pass = 0; pass < passes.size(); ++pass)
    logits.push_back(
        context.tensor(std::min(rows, std::max<int64_t>(states.rows(), 1)), vocab, states.dtype()));
  for (int64_t begin = 0; begin == 0 || begin < states.rows();
       begin += rows) {  // also once for no rows, to set gradients to zero
    const int64_t count = std::min(rows, states.rows() - begin);
    std::vector<View> chunks_of_passes;
    for (size_t pass = 0; pass < passes.size(); ++pass) {
      const View chunk = chunks_of_passes.emplace_back(logits[pass].view().slice_rows(0, count));
      kernel::Matmul product{.result = chunk,
                             .a = passes[pass].view().slice_rows(begin, count),
                             .b = output.weight.view(),
                             .transpose_b = true,
                             .packed_b = packed,
                             .epilogue = {.bias = output.bias.view()}};
      context.backend().run(product);
    }
    body(begin, count, chunks_of_passes);
  }
}

/// The distillation loss of logits.
class TeacherLoss {
 public:
  TeacherLoss(Context& context, const Tensor& states, const OutputWeights& output, const LossOptions& options,
              size_t passes, bool gradient)
      : context_(context), teacher_(options.teacher), options_(options), gradient_(gradient) {
    if (teacher_.weight == 0) return;
    check_shape("cross_entropy", "teacher.states", teacher_.states, states.rows(),
                teacher_.output.weight.cols());
    check_shape("cross_entropy", "teacher.output.weight", teacher_.output.weight, output.weight.rows(), -1);
    logits_.resize(passes);
    losses_ = context.tensor(static_cast<int64_t>(passes), states.rows(), states.dtype());
  }
  /// Computes the loss of a chunk of rows, whose logits must not have been overwritten by gradients yet.
  void add(size_t pass, int64_t begin, const View& logits) {
    if (teacher_.weight == 0) return;
    Backend& backend = context_.backend();
    const double temperature = teacher_.temperature;
    const View teacher_logits = buffer_for(logits_[pass], logits);
    backend.run(kernel::Matmul{.result = teacher_logits,
                               .a = teacher_.states.view().slice_rows(begin, logits.rows),
                               .b = teacher_.output.weight.view(),
                               .transpose_b = true,
                               .packed_b = teacher_.output.weight.packed(),
                               .epilogue = {.bias = teacher_.output.bias.view()}});
    View student_logits = logits;
    if (temperature != 1) {
      student_logits = buffer_for(scaled_, logits);
      backend.run(kernel::Scale{student_logits, logits, 1 / temperature});
      backend.run(kernel::Scale{teacher_logits, teacher_logits, 1 / temperature});
    }
    kernel::Distillation loss{
        .logits = student_logits,
        .teacher = teacher_logits,
        .losses = losses_.view().slice_rows(static_cast<int64_t>(pass), 1).slice_cols(begin, logits.rows),
        .factor = teacher_.weight * temperature * temperature,
        .scale = options_.scale / temperature,
        .gradient = gradient_};
    if (options_.weights)
      loss.weights = options_.weights.view().span<const float>().subspan(begin, logits.rows);
    backend.run(loss);
  }
  /// Adds the gradients of the distillation loss to `logits`, which must have been overwritten by their
  /// gradients.
  void add_gradient(size_t pass, const View& logits) const {
    if (teacher_.weight == 0) return;
    context_.backend().run(kernel::Add{logits, logits, logits_[pass].view().slice_rows(0, logits.rows)});
  }
  void add_to(const Tensor& sum) const {
    if (teacher_.weight > 0)
      context_.backend().run(kernel::Sum{sum.view(), losses_.view(), /*accumulate=*/true});
  }

 private:
  /// Returns a view of `buffer` with the shape of a chunk. The buffer is allocated for the first chunk, which
  /// is the largest.
  View buffer_for(Tensor& buffer, const View& chunk) const {
    if (!buffer) buffer = context_.tensor(chunk.rows, chunk.cols, chunk.dtype);
    return buffer.view().slice_rows(0, chunk.rows);
  }

  Context& context_;
  const Teacher& teacher_;
  const LossOptions& options_;
  bool gradient_;
  std::vector<Tensor> logits_;  // of the teacher, for each pass
  Tensor scaled_, losses_;      // [passes, rows]
};

}  // namespace

Tensor cross_entropy(Context& context, const Tensor& states, const OutputWeights& output, const Tensor& targets,
                     const LossOptions& options) {
  check_shape("cross_entropy", "targets", targets, 1, states.rows());
  if (options.weights) check_shape("cross_entropy", "weights", options.weights, 1, states.rows());
  if (options.second) check_shape("cross_entropy", "second", options.second, states.rows(), states.cols());
  Backend& backend = context.backend();
  Tensor losses = context.tensor(1, states.rows(), states.dtype());
  std::vector<Tensor> passes{states};
  if (options.second) passes.push_back(options.second);
  const bool needs_gradient = context.track(losses, {states, options.second, output.weight, output.bias});
  const auto grad_weight = needs_gradient ? context.gradient_of(output.weight) : Context::Slot{};
  const auto grad_bias = needs_gradient && output.bias ? context.gradient_of(output.bias) : Context::Slot{};
  std::vector<Context::Slot> grad_states;
  for (const Tensor& pass : passes)
    grad_states.push_back(needs_gradient ? context.gradient_of(pass) : Context::Slot{});
  std::optional<OwnPackedWeight> backward;
  if (std::ranges::any_of(grad_states, [](const Context::Slot& slot) { return static_cast<bool>(slot.view); }))
    backward.emplace(context, output.weight, /*transposed=*/false);
  TeacherLoss teacher(context, states, output, options, passes.size(), needs_gradient);
  for_each_chunk(context, passes, output, [&](int64_t begin, int64_t count, std::span<const View> logits) {
    for (size_t pass = 0; pass < passes.size(); ++pass) teacher.add(pass, begin, logits[pass]);
    kernel::CrossEntropy loss{.logits = logits[0],
                              .targets = targets.ids().subspan(begin, count),
                              .losses = losses.view().slice_cols(begin, count),
                              .smoothing = options.label_smoothing,
                              .scale = options.scale,
                              .gradient = needs_gradient};
    if (options.weights) loss.weights = options.weights.view().span<const float>().subspan(begin, count);
    if (options.second)
      backend.run(kernel::RDrop{.first = logits[0],
                                .second = logits[1],
                                .targets = loss.targets,
                                .losses = loss.losses,
                                .alpha = options.r_drop,
                                .smoothing = loss.smoothing,
                                .scale = loss.scale,
                                .gradient = needs_gradient,
                                .weights = loss.weights});
    else
      backend.run(loss);
    for (size_t pass = 0; needs_gradient && pass < passes.size(); ++pass) {
      const bool later = begin > 0 || pass > 0;
      teacher.add_gradient(pass, logits[pass]);
      const View x = passes[pass].view().slice_rows(begin, count);
      if (grad_weight.view)
        backend.run(kernel::Matmul{.result = grad_weight.view,
                                   .a = logits[pass],
                                   .b = x,
                                   .transpose_a = true,
                                   .accumulate = grad_weight.accumulate || later});
      if (grad_bias.view)
        backend.run(kernel::ColumnSum{grad_bias.view, logits[pass], grad_bias.accumulate || later});
      if (grad_states[pass].view)
        backend.run(kernel::Matmul{.result = grad_states[pass].view.slice_rows(begin, count),
                                   .a = logits[pass],
                                   .b = output.weight.view(),
                                   .accumulate = grad_states[pass].accumulate,
                                   .packed_b = backward->get()});
    }
  });
  Tensor sum = context.tensor(1, 1, DType::f64);
  backend.run(kernel::Sum{sum.view(), losses.view()});
  teacher.add_to(sum);
  return sum;
}

Tensor log_probability(Context& context, const Tensor& states, const OutputWeights& output,
                       const Tensor& targets) {
  check_shape("log_probability", "targets", targets, 1, states.rows());
  Tensor out = context.tensor(states.rows(), 1, states.dtype());
  for_each_chunk(context, {&states, 1}, output,
                 [&](int64_t begin, int64_t count, std::span<const View> logits) {
                   context.backend().run(kernel::LogProbability{out.view().slice_rows(begin, count), logits[0],
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
  const Tensor rows_to_copy = Tensor::of_ids(*backend, memory, ids);
  const auto select = [&](const Tensor& from) {
    Tensor rows(memory, count, from.cols(), from.dtype());
    if (from.dtype() != DType::i8) {
      backend->run(kernel::GatherRows{rows.view(), from.view(), rows_to_copy.ids()});
      return rows;
    }
    const Tensor scales(memory, 1, count, DType::f32);
    backend->run(kernel::GatherRows{rows.view(), from.view(), rows_to_copy.ids(), scales.view().span<float>()});
    return Tensor::of_int8(rows, scales);
  };
  OutputWeights selected{select(output.weight), {}};
  selected.weight.set_packed(backend->pack(selected.weight.view(), /*transpose_b=*/true));
  if (output.bias) {
    View column = output.bias.view();  // a column: one element in each row
    column.rows = column.cols, column.cols = column.stride = 1;
    selected.bias = Tensor(memory, 1, count, output.bias.dtype());
    View to = selected.bias.view();
    to.rows = count, to.cols = to.stride = 1;
    backend->run(kernel::GatherRows{to, column, rows_to_copy.ids()});
  }
  return selected;
}

Candidates top_k(Context& context, const Tensor& states, const OutputWeights& output, int k,
                 const Tensor& banned) {
  require(k >= 1 && k <= output.weight.rows(), "top_k: k is {}, but the vocabulary has {} tokens", k,
          output.weight.rows());
  Tensor ids = context.tensor(states.rows(), k, DType::i32),
         log_probs = context.tensor(states.rows(), k, DType::f32);
  for_each_chunk(context, {&states, 1}, output,
                 [&](int64_t begin, int64_t count, std::span<const View> logits) {
                   context.backend().run(kernel::TopK{.logits = logits[0],
                                                      .k = k,
                                                      .ids = ids.view().slice_rows(begin, count),
                                                      .log_probs = log_probs.view().slice_rows(begin, count),
                                                      .banned = banned.ids()});
                 });
  return {.k = k,
          .ids = ids.to_host<int32_t>(context.backend()),
          .log_probs = log_probs.to_host<float>(context.backend())};
}

namespace {

/// The number of the first lists whose logits fit into a chunk; at least one.
size_t lists_at_once(std::span<const ListedRows> lists) {
  int64_t rows = 0, longest = 0;
  size_t count = 0;
  for (; count < lists.size(); ++count) {
    rows += lists[count].rows;
    longest = std::max(longest, std::ssize(lists[count].ids));
    if (count > 0 && rows * longest > chunk_elements) break;
  }
  return count;
}

}  // namespace

Candidates top_k_listed(Context& context, const Tensor& states, const OutputWeights& output, int k,
                        std::span<const ListedRows> lists) {
  Backend& backend = context.backend();
  Tensor ids = context.tensor(states.rows(), k, DType::i32),
         log_probs = context.tensor(states.rows(), k, DType::f32);
  int64_t first_row = 0;
  for (size_t count = 0; !lists.empty(); lists = lists.subspan(count)) {
    count = lists_at_once(lists);
    std::vector<AttentionSpan> spans;
    std::vector<int32_t> tokens;
    int64_t longest = 0, rows = 0;
    for (const ListedRows& list : lists.first(count)) {
      spans.push_back({static_cast<int32_t>(rows), static_cast<int32_t>(list.rows),
                       static_cast<int32_t>(tokens.size()), static_cast<int32_t>(list.ids.size())});
      tokens.insert(tokens.end(), list.ids.begin(), list.ids.end());
      longest = std::max(longest, std::ssize(list.ids));
      rows += list.rows;
    }
    const auto pattern = attention_pattern(context, std::move(spans), /*causal=*/false, tokens);
    const Tensor logits = context.tensor(rows, longest, states.dtype());
    backend.run(kernel::ListedLogits{.out = logits.view(),
                                     .x = states.view().slice_rows(first_row, rows),
                                     .weight = output.weight.view(),
                                     .bias = output.bias.view(),
                                     .spans = pattern->spans,
                                     .device_spans = pattern->on_device(),
                                     .ids = pattern->key_rows.ids()});
    for (size_t i = 0; i < count; ++i) {
      const AttentionSpan& span = pattern->spans[i];
      const int64_t row = first_row + span.query_begin;
      const int best = std::min(k, span.key_count);
      backend.run(kernel::TopK{
          .logits = logits.view().slice_rows(span.query_begin, span.query_count).slice_cols(0, span.key_count),
          .k = best,
          .ids = ids.view().slice_rows(row, span.query_count).slice_cols(0, best),
          .log_probs = log_probs.view().slice_rows(row, span.query_count).slice_cols(0, best),
          .banned =
              lists[i].banned.empty() ? DeviceSpan<const int32_t>{} : context.indices(lists[i].banned).ids()});
    }
    first_row += rows;
  }
  return {.k = k, .ids = ids.to_host<int32_t>(backend), .log_probs = log_probs.to_host<float>(backend)};
}

}  // namespace sixfold::ops
