#include <algorithm>

#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

Attention attention_call(const AttentionInputs& in, const AttentionPattern& pattern) {
  check_shape("attention", "key", in.key, -1, in.query.cols());
  check_shape("attention", "value", in.value, in.key.rows(), -1);
  require(in.heads > 0 && in.query.cols() % in.heads == 0 && in.value.cols() % in.heads == 0,
          "attention: {} and {} columns don't divide into {} heads", in.query.cols(), in.value.cols(),
          in.heads);
  const int64_t places = pattern.key_rows ? pattern.key_rows.cols() : in.key.rows();
  for (const auto& span : pattern.spans)
    require(span.query_begin >= 0 && span.query_count >= 0 && span.key_begin >= 0 && span.key_count >= 0 &&
                span.query_begin + span.query_count <= in.query.rows() &&
                span.key_begin + span.key_count <= places,
            "attention: a span of {} queries from {} and {} keys from {} leaves the {} queries or the {} keys",
            span.query_count, span.query_begin, span.key_count, span.key_begin, in.query.rows(), places);
  return {.query = in.query.view(),
          .key = in.key.view(),
          .value = in.value.view(),
          .spans = pattern.spans,
          .key_rows = pattern.key_rows ? pattern.key_rows.ids() : nullptr,
          .heads = in.heads,
          .causal = pattern.causal};
}

}  // namespace

AttentionPattern attention_pattern(const Ragged& queries, const Ragged& keys, bool causal) {
  require(queries.sequences() == keys.sequences(), "attention: {} sequences of queries and {} of keys",
          queries.sequences(), keys.sequences());
  AttentionPattern pattern;
  pattern.causal = causal;
  for (int i = 0; i < queries.sequences(); ++i)
    pattern.spans.push_back({queries.begin(i), queries.length(i), keys.begin(i), keys.length(i)});
  return pattern;
}

Tensor attention(Context& context, const AttentionInputs& in, std::shared_ptr<const AttentionPattern> pattern,
                 const Dropout& dropout) {
  Attention call = attention_call(in, *pattern);
  Tensor out = context.tensor(in.query.rows(), in.value.cols(), in.query.dtype());
  const bool wants = context.track(out, {in.query, in.key, in.value});
  Tensor logsumexp = wants ? context.tensor(in.query.rows(), in.heads, in.query.dtype()) : Tensor();
  call.out = out.view();
  call.logsumexp = logsumexp.view();
  call.dropout = dropout;
  context.backend().attention(call);
  if (wants)
    context.record("attention", out, [&context, in, pattern, out, logsumexp, call] {
      const WrittenGradient query(context, in.query), key(context, in.key), value(context, in.value);
      context.backend().attention_gradient({.forward = call,
                                            .grad_out = out.gradient().view(),
                                            .grad_query = query.view(),
                                            .grad_key = key.view(),
                                            .grad_value = value.view()});
      for (const WrittenGradient* written : {&query, &key, &value}) written->add();
    });
  return out;
}

Tensor attention_weights(Context& context, const AttentionInputs& in, const AttentionPattern& pattern) {
  int64_t most = 0;
  for (const auto& span : pattern.spans) most = std::max<int64_t>(most, span.key_count);
  Attention call = attention_call(in, pattern);
  Tensor out = context.tensor(in.query.rows(), in.value.cols(), in.query.dtype());
  Tensor weights = context.tensor(in.heads * in.query.rows(), most, in.query.dtype());
  call.out = out.view();
  call.weights = weights.view();
  context.backend().attention(call);
  return weights;
}

}  // namespace sixfold::ops
