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

/// A block of elements of type T, which are loaded as vectors of floats: one for floats; for bf16, which are
/// pairs in words of 32 bits, one of the even elements and one of the odd ones.
template <class T>
struct Block;

template <>
struct Block<float> {
  static constexpr int vectors = 1, size = lanes;
  using Vectors = Vector[vectors];

  HWY_INLINE static void load(const float* from, Vectors& to) { to[0] = hn::LoadU(Floats(), from); }
  HWY_INLINE static void load_floats(const float* from, Vectors& to) { load(from, to); }
  HWY_INLINE static void store(const Vectors& from, float* to) { hn::StoreU(from[0], Floats(), to); }
};

template <>
struct Block<uint16_t> {
  static constexpr int vectors = 2, size = 2 * lanes;
  using Vectors = Vector[vectors];

  HWY_INLINE static void load(const uint16_t* from, Vectors& to) {
    const Words words;
#if HWY_TARGET == HWY_SCALAR
    const auto pairs = hn::Set(words, from[0] | uint32_t{from[1]} << 16);
#else
    const auto pairs = hn::BitCast(words, hn::LoadU(hn::Repartition<uint16_t, Words>(), from));
#endif
    to[0] = hn::BitCast(Floats(), hn::ShiftLeft<16>(pairs));
    to[1] = hn::BitCast(Floats(), hn::And(pairs, hn::Set(words, 0xFFFF0000u)));
  }
  HWY_INLINE static void load_floats(const float* from, Vectors& to) {
    hn::LoadInterleaved2(Floats(), from, to[0], to[1]);
  }
  HWY_INLINE static void store(const Vectors& from, float* to) {
    hn::StoreInterleaved2(from[0], from[1], Floats(), to);
  }
};

/// Loads the first `count` elements of a block as `load` does; the others are zeros.
template <class T, class E, class Load>
HWY_INLINE void load_first(const E* from, int64_t count, const Load& load, typename Block<T>::Vectors& to) {
  HWY_ALIGN E first[Block<T>::size] = {};
  std::memcpy(first, from, sizeof(E) * static_cast<size_t>(count));
  load(first, to);
}

/// to[i] = the dot product of a and b[i], over n elements.
template <class T>
HWY_INLINE void dots_of_four(const float* a, const T* const (&b)[4], int64_t n, float* to) {
  using B = Block<T>;
  const Floats d;
  Vector sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  typename B::Vectors x, y;
  const auto add = [&](int i) HWY_ATTR {
    for (int v = 0; v < B::vectors; ++v) sums[i] = hn::MulAdd(x[v], y[v], sums[i]);
  };
  int64_t j = 0;
  for (; j + B::size <= n; j += B::size) {
    B::load_floats(a + j, x);
    for (int i = 0; i < 4; ++i) B::load(b[i] + j, y), add(i);
  }
  if (j < n) {
    load_first<T>(a + j, n - j, B::load_floats, x);
    for (int i = 0; i < 4; ++i) load_first<T>(b[i] + j, n - j, B::load, y), add(i);
  }
  sum_lanes_of_four(d, sums, to);
}

/// to [size] = sum of weights[j] * row(j)[begin, begin + size) over `count` rows, in order, for whole blocks.
/// The sums stay in registers.
template <class T, int blocks, class Row>
HWY_INLINE void add_weighted(const float* weights, int64_t count, const Row& row, int64_t begin, float* to) {
  using B = Block<T>;
  const Floats d;
  typename B::Vectors sum[blocks], x;
#pragma GCC unroll 8
  for (int b = 0; b < blocks; ++b)
    for (int v = 0; v < B::vectors; ++v) sum[b][v] = hn::Zero(d);
  for (int64_t j = 0; j < count; ++j) {
    const auto weight = hn::Set(d, weights[j]);
    const T* from = row(j) + begin;
#pragma GCC unroll 8
    for (int b = 0; b < blocks; ++b) {
      B::load(from + b * B::size, x);
      for (int v = 0; v < B::vectors; ++v) sum[b][v] = hn::MulAdd(weight, x[v], sum[b][v]);
    }
  }
#pragma GCC unroll 8
  for (int b = 0; b < blocks; ++b) B::store(sum[b], to + b * B::size);
}

/// to [n] = sum of weights[j] * row(j) over `count` rows, in order.
template <class T, class Row>
HWY_INLINE void weighted_sum(const float* weights, int64_t count, const Row& row, int64_t n, float* to) {
  constexpr int size = Block<T>::size, several = 4 / Block<T>::vectors;
  int64_t i = 0;
  for (; i + several * size <= n; i += several * size) add_weighted<T, several>(weights, count, row, i, to + i);
  for (; i + size <= n; i += size) add_weighted<T, 1>(weights, count, row, i, to + i);
  if (i == n) return;
  HWY_ALIGN T first[size] = {};
  HWY_ALIGN float sums[size];
  const auto copied = [&](int64_t j) HWY_ATTR {
    std::memcpy(first, row(j) + i, sizeof(T) * static_cast<size_t>(n - i));
    return first;
  };
  add_weighted<T, 1>(weights, count, copied, 0, sums);
  std::copy_n(sums, n - i, to + i);
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
template <class T>
HWY_INLINE const T* fetched_row(const HeadTask& t, const View& v, int64_t at, int64_t width) {
  if (at + prefetch_rows < t.keys) {
    const T* later = t.key_side_row<T>(v, at + prefetch_rows, width);
    for (int64_t i = 0; i < width; i += 64 / sizeof(T)) hwy::Prefetch(later + i);
  }
  return t.key_side_row<T>(v, at, width);
}

/// T: the type of keys and values.
template <class T>
void attend_few_queries(HeadTask& t) {
  const kernel::Attention& p = t.p;
  float* weights = t.allocate(kernel::Attention::few_queries * t.stride);
  const int64_t queries = t.span.query_count;
  const Strided query = t.query_rows(p.query, 0, t.d_k), out = t.query_rows(p.out, 0, t.d_v);
  if (p.score_weight)
    additive_scores(t, query, t.key_side(p.key, t.d_k), queries, t.keys, weights);
  else
    for (int64_t j = 0; j < t.keys; j += 4) {
      const T* keys[4];
      for (int64_t i = 0; i < 4; ++i) keys[i] = fetched_row<T>(t, p.key, std::min(j + i, t.keys - 1), t.d_k);
      for (int64_t q = 0; q < queries; ++q)
        dots_of_four(query.data + q * query.row, keys, t.d_k, weights + q * t.stride + j);
    }
  softmax_rows(t, 0, queries, weights);
  const auto value = [&](int64_t j) HWY_ATTR { return fetched_row<T>(t, p.value, j, t.d_v); };
  for (int64_t q = 0; q < queries; ++q)
    weighted_sum<T>(weights + q * t.stride, t.visible_end(q), value, t.d_v,
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
  if (has_few_queries(t))
    return p.key.dtype == DType::bf16 ? attend_few_queries<uint16_t>(t) : attend_few_queries<float>(t);
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
