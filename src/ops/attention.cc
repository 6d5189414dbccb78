#include <algorithm>

#include "ops/check.h"
#include "ops/check_spans.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

kernel::Attention attention_call(const AttentionInputs& in, const AttentionPattern& pattern) {
  const int kv_heads = in.kv_heads ? in.kv_heads : in.heads;
  require(in.heads > 0 && kv_heads > 0 && in.heads % kv_heads == 0 && in.query.cols() % in.heads == 0 &&
              in.value.cols() % kv_heads == 0,
          "attention: {} and {} columns are not divisible by {} heads of queries and {} of keys and values",
          in.query.cols(), in.value.cols(), in.heads, kv_heads);
  check_shape("attention", "key", in.key, -1, in.query.cols() / in.heads * kv_heads);
  check_shape("attention", "value", in.value, in.key.rows(), -1);
  if (in.score_weight) check_shape("attention", "score_weight", in.score_weight, 1, in.query.cols());
  if (in.distance_bias) check_shape("attention", "distance_bias", in.distance_bias, -1, in.heads);
  check_spans("attention", pattern, in.query.rows(), in.key.rows());
  if (in.window != kernel::Attention::everywhere) {
    require(in.window > 0, "attention: a window of {} places", in.window);
    for (const auto& span : pattern.spans)
      require(span.query_count <= span.key_count, "attention: {} queries for {} keys in restricted attention",
              span.query_count, span.key_count);
  }
  if (in.distance_bias)
    for (const auto& span : pattern.spans)
      require(in.distance_bias.rows() % 2 == 1 && in.distance_bias.rows() >= 2 * span.key_count - 1 &&
                  span.query_count <= span.key_count,
              "attention: a distance bias of {} rows for {} queries and {} keys", in.distance_bias.rows(),
              span.query_count, span.key_count);
  return {.query = in.query.view(),
          .key = in.key.view(),
          .value = in.value.view(),
          .spans = pattern.spans,
          .device_spans = pattern.on_device(),
          .key_rows = pattern.key_rows.ids(),
          .heads = in.heads,
          .group = in.heads / kv_heads,
          .causal = pattern.causal,
          .window = in.window,
          .scaled = in.scaled,
          .score_weight = in.score_weight.view(),
          .distance_bias = in.distance_bias.view()};
}

int64_t result_width(const kernel::Attention& call) { return call.value.cols * call.group; }

/// Adds the gradients of the inputs of a call that has run.
void run_gradient(const Context& context, const AttentionInputs& in, const kernel::Attention& call,
                  View grad_out) {
  const OverwritableGradient query(context, in.query), key(context, in.key), value(context, in.value);
  Tensor unused;  // the kernel writes the gradient of score_weight even if that is frozen
  if (in.score_weight && !in.score_weight.requires_grad())
    unused = context.zeros(1, in.score_weight.cols(), in.score_weight.dtype());
  context.backend().run(kernel::AttentionGradient{
      .forward = call,
      .grad_out = grad_out,
      .grad_query = query.view(),
      .grad_key = key.view(),
      .grad_value = value.view(),
      .grad_score_weight = unused ? unused.view() : context.summed_gradient_of(in.score_weight),
      .grad_distance_bias = context.summed_gradient_of(in.distance_bias)});
  for (const OverwritableGradient* gradient : {&query, &key, &value}) gradient->accumulate();
}

}  // namespace

DeviceSpan<const AttentionSpan> AttentionPattern::on_device() const {
  if (!uploaded_spans) return {spans.data(), std::ssize(spans)};
  return {uploaded_spans.view().as<const AttentionSpan>(), std::ssize(spans)};
}

std::shared_ptr<const AttentionPattern> attention_pattern(Context& context, std::vector<AttentionSpan> spans,
                                                          bool causal, std::span<const int32_t> key_rows) {
  return attention_pattern(context, std::move(spans), causal,
                           key_rows.empty() ? Tensor() : context.indices(key_rows));
}

std::shared_ptr<const AttentionPattern> attention_pattern(Context& context, std::vector<AttentionSpan> spans,
                                                          bool causal, const Tensor& key_rows) {
  auto pattern = std::make_shared<AttentionPattern>();
  pattern->spans = std::move(spans);
  pattern->causal = causal;
  pattern->key_rows = key_rows;
  if (context.backend().is_host() || pattern->spans.empty()) return pattern;
  constexpr int64_t fields = sizeof(AttentionSpan) / sizeof(int32_t);
  pattern->uploaded_spans = context.tensor(std::ssize(pattern->spans), fields, DType::i32);
  context.backend().upload(pattern->uploaded_spans.view().data, std::as_bytes(std::span(pattern->spans)));
  return pattern;
}

std::shared_ptr<const AttentionPattern> attention_pattern(Context& context, const Ragged& queries,
                                                          const Ragged& keys, bool causal) {
  require(queries.sequences() == keys.sequences(), "attention: {} sequences of queries and {} of keys",
          queries.sequences(), keys.sequences());
  std::vector<AttentionSpan> spans;
  for (int i = 0; i < queries.sequences(); ++i)
    spans.push_back({queries.begin(i), queries.length(i), keys.begin(i), keys.length(i)});
  return attention_pattern(context, std::move(spans), causal);
}

Tensor attention(Context& context, const AttentionInputs& in, std::shared_ptr<const AttentionPattern> pattern,
                 const Dropout& dropout) {
  kernel::Attention call = attention_call(in, *pattern);
  Tensor out = context.tensor(in.query.rows(), result_width(call), in.query.dtype());
  const bool needs_gradient =
      context.track(out, {in.query, in.key, in.value, in.score_weight, in.distance_bias});
  Tensor logsumexp = needs_gradient ? context.tensor(in.query.rows(), in.heads, in.query.dtype()) : Tensor();
  call.out = out.view();
  call.logsumexp = logsumexp.view();
  call.dropout = dropout;
  context.backend().run(call);
  if (needs_gradient)
    context.record("attention", out, {in.query, in.key, in.value, in.score_weight, in.distance_bias, out},
                   [&context, in, pattern, out, logsumexp, call] {
                     run_gradient(context, in, call, out.gradient().view());
                   });
  return out;
}

namespace {

/// For each key the one-hot vector of its place in the sequence, once for each head. With these vectors as
/// values, the output of attention is its weights.
Tensor one_hot_positions(Context& context, const AttentionPattern& pattern, int64_t keys, int64_t max_keys,
                         int heads, DType dtype) {
  std::vector<float> values(static_cast<size_t>(keys * heads * max_keys));
  for (const AttentionSpan& span : pattern.spans)
    for (int64_t k = 0; k < std::min<int64_t>(span.key_count, max_keys); ++k)
      for (int64_t h = 0; h < heads; ++h)
        values[static_cast<size_t>(((span.key_begin + k) * heads + h) * max_keys + k)] = 1;
  return context.matrix(values, keys, heads * max_keys, dtype);
}

}  // namespace

Tensor link_loss(Context& context, const AttentionInputs& inputs, const AttentionPattern& pattern,
                 const Tensor& target_weights, double factor, double scale) {
  require(!pattern.key_rows, "link_loss: the keys have rows of their own");
  const DType dtype = inputs.query.dtype();
  AttentionInputs in = inputs;
  in.value = one_hot_positions(context, pattern, in.key.rows(), target_weights.cols(),
                               in.kv_heads ? in.kv_heads : in.heads, dtype);
  kernel::Attention call = attention_call(in, pattern);
  check_shape("link_loss", "target_weights", target_weights, in.query.rows(), call.max_keys());
  Tensor losses = context.tensor(1, in.query.rows(), dtype);
  const Tensor weights = context.tensor(in.query.rows(), result_width(call), dtype);
  const bool needs_gradient = context.track(losses, {in.query, in.key, in.score_weight, in.distance_bias});
  const Tensor logsumexp = needs_gradient ? context.tensor(in.query.rows(), in.heads, dtype) : Tensor(),
               gradient = needs_gradient ? context.tensor(weights.rows(), weights.cols(), dtype) : Tensor();
  call.out = weights.view();
  call.logsumexp = logsumexp.view();
  context.backend().run(call);
  context.backend().run(kernel::LinkLoss{.weights = weights.view(),
                                         .target_weights = target_weights.view(),
                                         .losses = losses.view(),
                                         .gradient = gradient.view(),
                                         .factor = factor,
                                         .scale = scale});
  if (needs_gradient) run_gradient(context, in, call, gradient.view());
  return losses;
}

Tensor attention_weights(Context& context, const AttentionInputs& in, const AttentionPattern& pattern) {
  kernel::Attention call = attention_call(in, pattern);
  Tensor out = context.tensor(in.query.rows(), result_width(call), in.query.dtype());
  Tensor weights = context.tensor(in.heads * in.query.rows(), call.max_keys(), in.query.dtype());
  call.out = out.view();
  call.weights = weights.view();
  context.backend().run(call);
  return weights;
}

}  // namespace sixfold::ops
