#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/attention_task.h"
#include "backend/cpu/cpu_backend.h"

// If there are many queries, keys and values are packed once and queries are processed in blocks, so that the
// scores in memory are query_block x keys and not queries x keys. If there are few queries, as in beam search,
// keys and values are read without packing.

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

int64_t attention_scratch(const kernel::Attention& p, int64_t max_keys) { return task_scratch(p, max_keys); }

/// Converts the unscaled scores of queries [first, first + rows) to weights, and stores the logarithm of the
/// softmax's denominator. Keys that a query does not attend to get weight 0.
HWY_INLINE void softmax_rows(const HeadTask& t, int64_t first, int64_t rows, float* scores) {
  const Floats d;
  for (int64_t i = 0; i < rows; ++i) {
    float* x = scores + i * t.stride;
    const int64_t n = t.visible_end(first + i);
    const float largest = prepare_scores(t, first + i, x);
    auto sum = hn::Zero(d);
    exponentials(t, x, n, largest, 0, [&](Vector kept) HWY_ATTR { sum = hn::Add(sum, kept); });
    const float total = n > 0 ? sum_lanes(sum) : 1;
    const auto inverse = hn::Set(d, 1.0f / total);
    for (int64_t j = 0; j < t.stride; j += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + j), inverse), d, x + j);
    if (t.p.logsumexp) t.p.logsumexp.row<float>(t.span.query_begin + first + i)[t.head] = std::log(total);
  }
}

#if HWY_TARGET != HWY_SCALAR
/// Adds the blocks of four lanes of a vector, and stores the four sums.
template <class D>
HWY_INLINE void store_sum_of_blocks(D d, hn::Vec<D> v, float* to) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    store_sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  } else {
    hn::StoreU(v, d, to);
  }
}
#endif

/// to[i] = the sum of the lanes of v[i], for four vectors, in a fixed order.
HWY_INLINE void sum_lanes_of_four(const Vector (&v)[4], float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) to[i] = hn::GetLane(v[i]);
#else
  const Floats d;
  const hn::Repartition<double, Floats> pairs;
  const auto add_pairs = [&](Vector a, Vector b) HWY_ATTR {  // in blocks of four: a0+a2, b0+b2, a1+a3, b1+b3
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto first = add_pairs(v[0], v[1]), second = add_pairs(v[2], v[3]);
  store_sum_of_blocks(d,
                      hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, first, second)),
                              hn::BitCast(d, hn::InterleaveUpper(pairs, first, second))),
                      to);
#endif
}

/// to[i] = the dot product of a and b[i], over n elements.
HWY_INLINE void dots_of_four(const float* a, const float* const (&b)[4], int64_t n, float* to) {
  const Floats d;
  Vector sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  over_vectors(n, [&](int64_t j, const auto& load, const auto&) HWY_ATTR {
    const auto x = load(a + j);
    for (int i = 0; i < 4; ++i) sums[i] = hn::MulAdd(x, load(b[i] + j), sums[i]);
  });
  sum_lanes_of_four(sums, to);
}

/// to [n] = sum of weights[j] * row(j) over `count` rows, in order. A part of `to` stays in registers while the
/// rows are added.
template <int vectors, class Row>
HWY_INLINE void add_weighted(const float* weights, int64_t count, const Row& row, int64_t begin, float* to) {
  const Floats d;
  Vector sum[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) sum[v] = hn::Zero(d);
  for (int64_t j = 0; j < count; ++j) {
    const auto weight = hn::Set(d, weights[j]);
    const float* from = row(j) + begin;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[v] = hn::MulAdd(weight, hn::LoadU(d, from + v * lanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) hn::StoreU(sum[v], d, to + begin + v * lanes);
}

template <class Row>
HWY_INLINE void weighted_sum(const float* weights, int64_t count, const Row& row, int64_t n, float* to) {
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) add_weighted<4>(weights, count, row, i, to);
  for (; i + lanes <= n; i += lanes) add_weighted<1>(weights, count, row, i, to);
  for (; i < n; ++i) {
    to[i] = 0;
    for (int64_t j = 0; j < count; ++j) to[i] = std::fma(weights[j], row(j)[i], to[i]);
  }
}

/// Whether the task has so few queries that packing would cost more than it saves. This depends on the sequence
/// alone, so that the bits of a row do, too.
HWY_INLINE bool has_few_queries(const HeadTask& t) {
  return t.span.query_count <= kernel::Attention::few_queries && !t.p.logsumexp && !t.p.weights && !t.p.dropout;
}

/// The number of rows by which rows of keys and values are prefetched into the cache. The rows of a hypothesis
/// are not adjacent, so that the processor's own prefetching does not work for them.
inline constexpr int64_t prefetch_rows = 8;

/// Returns `key_side_row` and prefetches a later one.
HWY_INLINE const float* fetched_row(const HeadTask& t, const View& v, int64_t at, int64_t width) {
  if (at + prefetch_rows < t.keys) {
    const float* later = t.key_side_row(v, at + prefetch_rows, width);
    for (int64_t i = 0; i < width; i += 64 / sizeof(float)) hwy::Prefetch(later + i);
  }
  return t.key_side_row(v, at, width);
}

void attend_few_queries(HeadTask& t) {
  const kernel::Attention& p = t.p;
  float* weights = t.allocate(kernel::Attention::few_queries * t.stride);
  const int64_t queries = t.span.query_count;
  const Strided query = t.query_rows(p.query, 0, t.d_k), out = t.query_rows(p.out, 0, t.d_v);
  const auto key = [&](int64_t j) HWY_ATTR { return fetched_row(t, p.key, j, t.d_k); };
  if (p.score_weight)
    for (int64_t j = 0; j < t.keys; ++j) additive_scores(t, query, {key(j), 0, 1}, queries, 1, weights + j);
  else
    for (int64_t j = 0; j < t.keys; j += 4) {
      const float* keys[4];
      for (int64_t i = 0; i < 4; ++i) keys[i] = key(std::min(j + i, t.keys - 1));
      for (int64_t q = 0; q < queries; ++q)
        dots_of_four(query.data + q * query.row, keys, t.d_k, weights + q * t.stride + j);
    }
  softmax_rows(t, 0, queries, weights);
  const auto value = [&](int64_t j) HWY_ATTR { return fetched_row(t, p.value, j, t.d_v); };
  for (int64_t q = 0; q < queries; ++q)
    weighted_sum(weights + q * t.stride, t.visible_end(q), value, t.d_v,
                 const_cast<float*>(out.data) + q * out.row);
}

/// Copies weights of queries [first, first + rows) to `p.weights`.
void store_weights(const HeadTask& t, int64_t first, int64_t rows, const float* weights) {
  const View& kept = t.p.weights;
  for (int64_t i = 0; i < rows; ++i) {
    float* row = kept.row<float>(t.head * t.p.query.rows + t.span.query_begin + first + i);
    std::fill_n(row, kept.cols, 0.0f);
    std::copy_n(weights + i * t.stride, t.keys, row + t.first_key);
  }
}

/// softmax(Q K^T * scale) V, section 3.2.1 of the paper, of one head of one part; the scale is
/// `HeadTask::scale`.
void attend_part(HeadTask& t) {
  const kernel::Attention& p = t.p;
  if (has_few_queries(t)) return attend_few_queries(t);
  float* copy = t.allocate(tile_rows * a_stride);
  uint16_t* bits = t.bits();
  float* key_panels = t.allocate(panels_size(t.d_k, t.keys));
  float* value_panels = t.allocate(panels_size(t.keys, t.d_v));
  const Strided keys = t.key_side(p.key, t.d_k), values = t.key_side(p.value, t.d_v);
  if (!p.score_weight) pack_panels({keys.data, 1, keys.row}, t.d_k, t.keys, key_panels);
  pack_panels(values, t.keys, t.d_v, value_panels);
  float* weights = t.allocate(query_block * t.stride);
  for (int64_t q = 0; q < t.span.query_count; q += query_block) {
    const int64_t rows = std::min<int64_t>(query_block, t.span.query_count - q);
    const int64_t visible = t.visible_end(q + rows - 1);
    const Strided query = t.query_rows(p.query, q, t.d_k);
    if (p.score_weight)
      additive_scores(t, query, keys, rows, visible, weights);
    else
      multiply_panels(query, key_panels, t.d_k, rows, visible, weights, t.stride, false, copy);
    softmax_rows(t, q, rows, weights);
    if (p.weights) store_weights(t, q, rows, weights);
    if (p.dropout) apply_weight_dropout(t, q, rows, weights, bits);
    const Strided out = t.query_rows(p.out, q, t.d_v);
    multiply_panels({weights, t.stride, 1}, value_panels, t.keys, rows, t.d_v, const_cast<float*>(out.data),
                    out.row, false, copy);
  }
}

/// Computes the task of this number, which is span * heads + head.
void attend(const kernel::Attention& p, int64_t task, float* memory) {
  const AttentionSpan& span = p.device_spans.data[task / p.heads];
  for (int64_t query = 0, queries = 1; queries > 0 && query < span.query_count; query += queries) {
    const Part part = part_of(p, span, query);
    HeadTask t(p, span, static_cast<int>(task % p.heads), part, memory);
    attend_part(t);
    queries = part.queries;
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(attention_scratch);
HWY_EXPORT(attend);

}  // namespace

void CpuBackend::compute(const kernel::Attention& p) {
  const int64_t keys = p.max_keys(), scratch = HWY_DYNAMIC_DISPATCH(attention_scratch)(p, keys);
  split(static_cast<int64_t>(p.spans.size()) * p.heads, 16 * keys * (p.query.cols + p.out.cols) / p.heads,
        [&](int64_t begin, int64_t end, int thread) {
          float* memory = thread_scratch_[static_cast<size_t>(thread)].floats(scratch);
          for (int64_t task = begin; task < end; ++task) HWY_DYNAMIC_DISPATCH(attend)(p, task, memory);
        });
}

}  // namespace sixfold
#endif
