// Code that the kernels of attention and of its gradient share. Included once for each instruction set.
#if defined(SIXFOLD_CPU_ATTENTION_TASK_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SIXFOLD_CPU_ATTENTION_TASK_H
#undef SIXFOLD_CPU_ATTENTION_TASK_H
#else
#define SIXFOLD_CPU_ATTENTION_TASK_H
#endif

#include <cmath>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/exponential.h"
#include "backend/cpu/panels.h"
#include "base/bf16.h"

// A task is one head of one sequence. It is processed in parts. Usually the whole task is one part. In
// restricted attention, where a query attends only to keys in a window around its place, a part is a block of
// queries and the keys that any of them attends to, so that the cost is linear in the length of the sequence.

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

inline constexpr int query_block = 4 * tile_rows;
/// A row of scores has room for a multiple of this number; four scores are computed at once.
inline constexpr int64_t score_unit = std::max(tile_cols, 4);

/// Adjacent queries of a span, and the keys that any of them attends to.
struct Part {
  int64_t query, queries;  ///< the first query, counted in the span, and the number of queries
  int64_t key, keys;       ///< the place of the first key in the span, and the number of keys
};

HWY_INLINE bool is_restricted(const kernel::Attention& p) { return p.window != kernel::Attention::everywhere; }

/// The part of a span whose first query is `query`. Its keys begin at a multiple of 8, as the random bits of
/// dropout are drawn for eight keys at a time.
HWY_INLINE Part part_of(const kernel::Attention& p, const AttentionSpan& span, int64_t query) {
  if (!is_restricted(p)) return {0, span.query_count, 0, span.key_count};
  const int64_t window = p.window, place = span.key_count - span.query_count + query;
  const int64_t queries = std::min<int64_t>(query_block, span.query_count - query);
  const int64_t end = place + queries + (p.causal ? 0 : window);
  const int64_t begin = std::max<int64_t>(place - window, 0) / 8 * 8;
  return {query, queries, begin, std::max<int64_t>(std::min<int64_t>(end, span.key_count) - begin, 0)};
}

/// One head of one part of a span, with scratch memory. Its members count queries and keys from the first ones
/// of the part.
struct HeadTask {
  const kernel::Attention& p;
  AttentionSpan span;  ///< of the part
  int head;
  int64_t d_k, d_v, keys, stride;  // stride: of a row of scores
  int64_t place;                   ///< place of the first query among the keys of the part
  int64_t first_key;               ///< place of the first key of the part in the span
  float scale;                     ///< factor of the scores
  float* bias = nullptr;           ///< element bias_offset(q) + j is for query q and key j
  float* scratch;

  HeadTask(const kernel::Attention& attention, const AttentionSpan& whole, int head_index, const Part& part,
           float* memory)
      : p(attention),
        span{static_cast<int32_t>(whole.query_begin + part.query), static_cast<int32_t>(part.queries),
             static_cast<int32_t>(whole.key_begin + part.key), static_cast<int32_t>(part.keys)},
        head(head_index),
        d_k(p.query.cols / p.heads),
        d_v(p.out.cols / p.heads),
        keys(part.keys),
        stride(round_up(keys, score_unit)),
        place(whole.key_count - whole.query_count + part.query - part.key),
        first_key(part.key),
        scale(p.scaled && !p.score_weight ? 1.0f / std::sqrt(static_cast<float>(d_k)) : 1.0f),
        scratch(memory) {
    if (p.distance_bias) copy_bias();
  }

  /// Takes the next part of the scratch memory.
  float* allocate(int64_t floats) {
    float* piece = scratch;
    scratch += (floats + 15) / 16 * 16;
    return piece;
  }
  Strided query_rows(const View& v, int64_t first, int64_t width) const {
    return {v.row<float>(span.query_begin + first) + head * width, v.stride, 1};
  }
  /// Returns the columns of keys or values that the head uses, in the row of key place `at`. T is float, or
  /// uint16_t for bf16.
  template <class T = float>
  T* key_side_row(const View& v, int64_t at, int64_t width) const {
    return v.row<T>(span.key_row(at, p.key_rows)) + head / p.group * width;
  }
  /// Returns these columns of all rows of the part. Copies them if the rows are not contiguous, or bf16.
  Strided key_side(const View& v, int64_t width) {
    const bool is_bf16 = v.dtype == DType::bf16;
    if (!p.key_rows && !is_bf16) return {key_side_row(v, 0, width), v.stride, 1};
    float* gathered = allocate(keys * width);
    for (int64_t j = 0; j < keys; ++j) {
      float* to = gathered + j * width;
      if (is_bf16)
        std::transform(key_side_row<uint16_t>(v, j, width), key_side_row<uint16_t>(v, j, width) + width, to,
                       from_bf16);
      else
        std::memcpy(to, key_side_row(v, j, width), sizeof(float) * width);
    }
    return {gathered, width, 1};
  }
  /// Query q attends to the keys [visible_begin(q), visible_end(q)).
  int64_t visible_begin(int64_t q) const {
    return is_restricted(p) ? std::clamp<int64_t>(place + q - p.window, 0, keys) : 0;
  }
  int64_t visible_end(int64_t q) const {
    if (p.causal) return std::clamp<int64_t>(place + q + 1, 0, keys);
    return is_restricted(p) ? std::clamp<int64_t>(place + q + p.window + 1, 0, keys) : keys;
  }
  int64_t bias_offset(int64_t q) const { return span.query_count - 1 - q; }
  /// The row of a distance bias for element i of `bias`.
  int64_t bias_row(const View& table, int64_t i) const {
    return (table.rows - 1) / 2 + i - (place + span.query_count - 1);
  }
  int64_t bias_size() const { return keys + span.query_count - 1; }
  void copy_bias() {
    bias = allocate(bias_size() + tile_cols);
    for (int64_t i = 0; i < bias_size(); ++i)
      bias[i] = p.distance_bias.row<float>(bias_row(p.distance_bias, i))[head];
  }
  uint16_t* bits() { return reinterpret_cast<uint16_t*>(allocate(keys + 16 * lanes)); }
};

/// x[0, n) = exp((x - largest) * scale - shift), followed by zeros up to the stride. The largest value is
/// subtracted before the scaling: the rounding error of a large product would be large compared with the
/// differences. Calls `visit` with each vector.
template <class Visit>
HWY_INLINE void exponentials(const HeadTask& t, float* x, int64_t n, float largest, float shift,
                             const Visit& visit) {
  const Floats d;
  const auto max = hn::Set(d, largest), factor = hn::Set(d, t.bias ? 1.0f : t.scale),
             offset = hn::Set(d, shift);
  for (int64_t j = 0; j < t.stride; j += lanes) {
    const auto y = exponential(hn::MulSub(hn::Sub(hn::LoadU(d, x + j), max), factor, offset));
    const auto kept = j + lanes <= n ? y
                      : n > j        ? hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n - j)), y)
                                     : hn::Zero(d);
    visit(kept);
    hn::StoreU(kept, d, x + j);
  }
}

/// Prepares the scores of query q for the softmax, given the unscaled ones: with a distance bias they are
/// scaled and the bias is added; otherwise `exponentials` scales them. Scores of keys before the window become
/// -infinity. Returns the largest score of the keys that the query attends to.
HWY_INLINE float prepare_scores(const HeadTask& t, int64_t q, float* x) {
  const int64_t begin = t.visible_begin(q), end = t.visible_end(q);
  if (t.bias) {
    const Floats d;
    const auto factor = hn::Set(d, t.scale);
    const float* bias = t.bias + t.bias_offset(q);
    over_vectors(end, [&](int64_t j, const auto& load, const auto& store)
                          HWY_ATTR { store(hn::MulAdd(load(x + j), factor, load(bias + j)), x + j); });
  }
  std::fill_n(x, std::min(begin, end), -std::numeric_limits<float>::infinity());
  return begin < end ? largest_of(x + begin, end - begin) : 0;
}

/// scores [rows, keys] = score_weight tanh(query + key) for queries [first, first + rows).
HWY_INLINE void additive_scores(const HeadTask& t, const Strided& query, const Strided& key, int64_t rows,
                                int64_t keys, float* scores) {
  const float* weight = t.p.score_weight.row<float>(0) + t.head * t.d_k;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      const float *a = query.data + i * query.row, *b = key.data + j * key.row;
      auto sum = hn::Zero(Floats());
      over_vectors(t.d_k, [&](int64_t f, const auto& load, const auto&) HWY_ATTR {
        sum = hn::MulAdd(load(weight + f), hyperbolic_tangent(hn::Add(load(a + f), load(b + f))), sum);
      });
      scores[i * t.stride + j] = sum_lanes(sum);
    }
}

/// Applies dropout to the attention weights, or to their gradients, of queries [first, first + rows).
HWY_INLINE void apply_weight_dropout(const HeadTask& t, int64_t first, int64_t rows, float* weights,
                                     uint16_t* bits) {
  const Floats d;
  const float keep = static_cast<float>(t.p.dropout.keep_scale());
  for (int64_t i = 0; i < rows; ++i) {
    dropout_bits(t.p.dropout, t.span.query_begin + first + i, weight_module(t.p.dropout, t.head), t.keys, bits,
                 t.first_key);
    float* x = weights + i * t.stride;
    for (int64_t j = 0; j < t.stride; j += lanes)
      hn::StoreU(hn::Mul(hn::LoadU(d, x + j), keep_factor(bits + j, t.p.dropout.threshold, keep)), d, x + j);
  }
}

/// Returns the number of floats of scratch memory that a task needs at most.
HWY_INLINE int64_t task_scratch(const kernel::Attention& p, int64_t max_keys) {
  const int64_t d_k = p.query.cols / p.heads, d_v = p.out.cols / p.heads;
  int64_t part_keys = max_keys;
  if (is_restricted(p)) part_keys = std::min<int64_t>(max_keys, 2 * int64_t{p.window} + query_block + 8);
  const int64_t wide = part_keys + tile_cols;
  const int64_t biases = p.distance_bias ? 4 * (max_keys + wide) : 0;
  return tile_rows * a_stride + 3 * wide * (d_k + d_v + 2 * tile_cols) +
         4 * query_block * (wide + d_k + d_v + 2 * tile_cols) + wide * 4 + biases + 64 * lanes;
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
