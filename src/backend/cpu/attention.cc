#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention.cc"
#include <hwy/foreach_target.h>

#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/exponential.h"
#include "backend/cpu/panels.h"

// Each task is one head of one sequence. If there are many queries, keys and values are packed once and queries
// are processed in blocks, so that the scores in memory are query_block x keys and not queries x keys. If there
// are few queries, as in beam search, keys and values are read without packing.

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

inline constexpr int query_block = 4 * tile_rows;
inline constexpr int most_few = 8;  // maximum number of queries that count as few

/// One head of one span, with scratch memory.
struct HeadTask {
  const kernel::Attention& p;
  AttentionSpan span;
  int head;
  int64_t d_k, d_v, keys, stride;  // stride: of a row of scores
  float scale;
  float* scratch;

  HeadTask(const kernel::Attention& attention, int64_t task, float* memory)
      : p(attention),
        span(attention.device_spans.data[task / attention.heads]),
        head(static_cast<int>(task % attention.heads)),
        d_k(p.query.cols / p.heads),
        d_v(p.value.cols / p.heads),
        keys(span.key_count),
        stride((keys + tile_cols - 1) / tile_cols * tile_cols),
        scale(1.0f / std::sqrt(static_cast<float>(d_k))),
        scratch(memory) {}

  float* take(int64_t floats) {
    float* piece = scratch;
    scratch += (floats + 15) / 16 * 16;
    return piece;
  }
  Strided query_rows(const View& v, int64_t first, int64_t width) const {
    return {v.row<float>(span.query_begin + first) + head * width, v.stride, 1};
  }
  int64_t key_row(int64_t place) const {
    return p.key_rows ? p.key_rows.data[span.key_begin + place] : span.key_begin + place;
  }
  /// Returns a head's columns of the span's key or value rows. Copies them if the rows are not contiguous.
  Strided key_side(const View& v, int64_t width) {
    if (!p.key_rows) return {v.row<float>(span.key_begin) + head * width, v.stride, 1};
    float* gathered = take(keys * width);
    for (int64_t j = 0; j < keys; ++j)
      std::memcpy(gathered + j * width, v.row<float>(key_row(j)) + head * width, sizeof(float) * width);
    return {gathered, width, 1};
  }
  /// Returns the number of keys that query q of the span attends to.
  int64_t seen(int64_t q) const {
    return p.causal ? std::clamp<int64_t>(keys - span.query_count + q + 1, 0, keys) : keys;
  }
  uint16_t* bits() { return reinterpret_cast<uint16_t*>(take(keys + 16 * lanes)); }
};

/// Returns the maximum number of floats of scratch memory that a task needs.
int64_t attention_scratch(const kernel::Attention& p, int64_t most_keys) {
  const int64_t d_k = p.query.cols / p.heads, d_v = p.value.cols / p.heads, wide = most_keys + tile_cols;
  return tile_rows * a_stride + 3 * wide * (d_k + d_v + 2 * tile_cols) +
         4 * query_block * (wide + d_k + d_v + 2 * tile_cols) + wide * 4 + 64 * lanes;
}

/// x[0, n) = exp((x - largest) * scale - shift), followed by zeros up to the stride. The largest value is
/// subtracted before the scaling: the rounding error of a large product would be large compared with the
/// differences. Calls `visit` with each vector.
template <class Visit>
HWY_INLINE void exponentials(const HeadTask& t, float* x, int64_t n, float largest, float shift,
                             const Visit& visit) {
  const Floats d;
  const auto most = hn::Set(d, largest), by = hn::Set(d, t.scale), less = hn::Set(d, shift);
  for (int64_t j = 0; j < t.stride; j += lanes) {
    const auto y = exponential(hn::MulSub(hn::Sub(hn::LoadU(d, x + j), most), by, less));
    const auto kept = j + lanes <= n ? y
                      : n > j        ? hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n - j)), y)
                                     : hn::Zero(d);
    visit(kept);
    hn::StoreU(kept, d, x + j);
  }
}

/// Converts the products of queries [first, first + rows) and keys to weights, and computes their log-sum. Keys
/// that a query does not attend to get weight 0.
HWY_INLINE void softmax_rows(const HeadTask& t, int64_t first, int64_t rows, float* scores) {
  const Floats d;
  for (int64_t i = 0; i < rows; ++i) {
    float* x = scores + i * t.stride;
    const int64_t n = t.seen(first + i);
    auto sum = hn::Zero(d);
    exponentials(t, x, n, largest_of(x, n), 0, [&](Vector kept) HWY_ATTR { sum = hn::Add(sum, kept); });
    const float total = n > 0 ? sum_lanes(sum) : 1;
    const auto inverse = hn::Set(d, 1.0f / total);
    for (int64_t j = 0; j < t.stride; j += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + j), inverse), d, x + j);
    if (t.p.logsumexp) t.p.logsumexp.row<float>(t.span.query_begin + first + i)[t.head] = std::log(total);
  }
}

HWY_INLINE void drop_weights(const HeadTask& t, int64_t first, int64_t rows, float* weights, uint16_t* bits) {
  const Floats d;
  const float keep = static_cast<float>(t.p.dropout.keep_scale());
  for (int64_t i = 0; i < rows; ++i) {
    dropout_bits(t.p.dropout, t.span.query_begin + first + i, weight_module(t.p.dropout, t.head), t.keys, bits);
    float* x = weights + i * t.stride;
    for (int64_t j = 0; j < t.stride; j += lanes)
      hn::StoreU(hn::Mul(hn::LoadU(d, x + j), keep_factor(bits + j, t.p.dropout.threshold, keep)), d, x + j);
  }
}

/// Returns the dot product of a and b, over n elements.
HWY_INLINE float dot(const float* a, const float* b, int64_t n) {
  const Floats d;
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), sum1);
  }
  over_vectors(n - i, [&](int64_t j, const auto& load, const auto&)
                          HWY_ATTR { sum0 = hn::MulAdd(load(a + i + j), load(b + i + j), sum0); });
  return sum_lanes(hn::Add(sum0, sum1));
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
    const auto by = hn::Set(d, weights[j]);
    const float* from = row(j) + begin;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[v] = hn::MulAdd(by, hn::LoadU(d, from + v * lanes), sum[v]);
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

/// Whether the task has so few queries that packing would cost more than it saves. This depends only on the
/// sequence, and so do the bits of a row.
HWY_INLINE bool is_few(const HeadTask& t) {
  return t.span.query_count <= most_few && !t.p.logsumexp && !t.p.weights && !t.p.dropout;
}

void attend_few(HeadTask& t) {
  const kernel::Attention& p = t.p;
  float* weights = t.take(most_few * t.stride);
  const int64_t queries = t.span.query_count;
  const Strided query = t.query_rows(p.query, 0, t.d_k), out = t.query_rows(p.out, 0, t.d_v);
  for (int64_t j = 0; j < t.keys; ++j) {
    const float* key = p.key.row<float>(t.key_row(j)) + t.head * t.d_k;
    for (int64_t q = 0; q < queries; ++q)
      weights[q * t.stride + j] = dot(query.data + q * query.row, key, t.d_k);
  }
  softmax_rows(t, 0, queries, weights);
  const auto value = [&](int64_t j) { return p.value.row<float>(t.key_row(j)) + t.head * t.d_v; };
  for (int64_t q = 0; q < queries; ++q)
    weighted_sum(weights + q * t.stride, t.seen(q), value, t.d_v, const_cast<float*>(out.data) + q * out.row);
}

void attend(const kernel::Attention& p, int64_t task, float* memory) {
  HeadTask t(p, task, memory);
  if (is_few(t)) return attend_few(t);
  float* copy = t.take(tile_rows * a_stride);
  uint16_t* bits = t.bits();
  float* key_panels = t.take(panels_size(t.d_k, t.keys));
  float* value_panels = t.take(panels_size(t.keys, t.d_v));
  const Strided keys = t.key_side(p.key, t.d_k), values = t.key_side(p.value, t.d_v);
  pack_panels({keys.data, 1, keys.row}, t.d_k, t.keys, key_panels);
  pack_panels(values, t.keys, t.d_v, value_panels);
  float* weights = t.take(query_block * t.stride);
  for (int64_t q = 0; q < t.span.query_count; q += query_block) {
    const int64_t rows = std::min<int64_t>(query_block, t.span.query_count - q);
    const int64_t most = t.seen(q + rows - 1);
    multiply_panels(t.query_rows(p.query, q, t.d_k), key_panels, t.d_k, rows, most, weights, t.stride, false,
                    copy);
    softmax_rows(t, q, rows, weights);
    if (p.weights)
      for (int64_t i = 0; i < rows; ++i) {
        float* row = p.weights.row<float>(t.head * p.query.rows + t.span.query_begin + q + i);
        std::fill_n(std::copy_n(weights + i * t.stride, t.keys, row), p.weights.cols - t.keys, 0.0f);
      }
    if (p.dropout) drop_weights(t, q, rows, weights, bits);
    const Strided out = t.query_rows(p.out, q, t.d_v);
    multiply_panels({weights, t.stride, 1}, value_panels, t.keys, rows, t.d_v, const_cast<float*>(out.data),
                    out.row, false, copy);
  }
}

/// Replaces the weights w by the gradients of the scaled scores: w (g - sum(w g)) * scale, where g is the
/// gradient of the weights.
HWY_INLINE void softmax_gradient_rows(const HeadTask& t, int64_t rows, float* weights, const float* gradients) {
  const Floats d;
  for (int64_t i = 0; i < rows; ++i) {
    float* w = weights + i * t.stride;
    const float* g = gradients + i * t.stride;
    auto along = hn::Zero(d);
    for (int64_t j = 0; j < t.stride; j += lanes)
      along = hn::MulAdd(hn::LoadU(d, w + j), hn::LoadU(d, g + j), along);
    const auto mean = hn::Set(d, sum_lanes(along)), by = hn::Set(d, t.scale);
    for (int64_t j = 0; j < t.stride; j += lanes)
      hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, w + j), by), hn::Sub(hn::LoadU(d, g + j), mean)), d, w + j);
  }
}

/// Computes the weights again, from the products and their log-sum.
HWY_INLINE void recall_weights(const HeadTask& t, int64_t first, int64_t rows, float* scores) {
  for (int64_t i = 0; i < rows; ++i) {
    float* x = scores + i * t.stride;
    const int64_t n = t.seen(first + i);
    exponentials(t, x, n, largest_of(x, n), t.p.logsumexp.row<float>(t.span.query_begin + first + i)[t.head],
                 [](Vector) HWY_ATTR {});
  }
}

void attend_gradient(const kernel::AttentionGradient& g, int64_t task, float* memory) {
  const kernel::Attention& p = g.forward;
  HeadTask t(p, task, memory);
  float* copy = t.take(tile_rows * a_stride);
  uint16_t* bits = t.bits();
  float* key_columns = t.take(panels_size(t.d_k, t.keys));    // K^T, for the scores
  float* value_columns = t.take(panels_size(t.d_v, t.keys));  // V^T, for the gradient of the weights
  float* key_panels = t.take(panels_size(t.keys, t.d_k));     // K, for the gradient of the queries
  const Strided keys = t.key_side(p.key, t.d_k), values = t.key_side(p.value, t.d_v);
  pack_panels({keys.data, 1, keys.row}, t.d_k, t.keys, key_columns);
  pack_panels({values.data, 1, values.row}, t.d_v, t.keys, value_columns);
  pack_panels(keys, t.keys, t.d_k, key_panels);
  float* weights = t.take(query_block * t.stride);
  float* gradients = t.take(query_block * t.stride);
  float* dropped = p.dropout ? t.take(query_block * t.stride) : weights;
  float* query_panels = t.take(panels_size(query_block, t.d_k));
  float* out_panels = t.take(panels_size(query_block, t.d_v));
  const auto key_gradient = [&](const View& v, int64_t width) {
    return v.row<float>(t.span.key_begin) + t.head * width;
  };
  if (t.span.query_count == 0)
    for (int64_t j = 0; j < t.keys; ++j) {
      std::fill_n(key_gradient(g.grad_key, t.d_k) + j * g.grad_key.stride, t.d_k, 0.0f);
      std::fill_n(key_gradient(g.grad_value, t.d_v) + j * g.grad_value.stride, t.d_v, 0.0f);
    }
  for (int64_t q = 0; q < t.span.query_count; q += query_block) {
    const int64_t rows = std::min<int64_t>(query_block, t.span.query_count - q);
    const Strided query = t.query_rows(p.query, q, t.d_k), grad_out = t.query_rows(g.grad_out, q, t.d_v);
    multiply_panels(query, key_columns, t.d_k, rows, t.keys, weights, t.stride, false, copy);
    recall_weights(t, q, rows, weights);
    multiply_panels(grad_out, value_columns, t.d_v, rows, t.keys, gradients, t.stride, false, copy);
    for (int64_t i = 0; i < rows; ++i)
      std::fill(gradients + i * t.stride + t.keys, gradients + (i + 1) * t.stride, 0.0f);
    if (p.dropout) {
      std::copy_n(weights, rows * t.stride, dropped);
      drop_weights(t, q, rows, dropped, bits);
      drop_weights(t, q, rows, gradients, bits);
    }
    pack_panels(grad_out, rows, t.d_v, out_panels);
    multiply_panels({dropped, 1, t.stride}, out_panels, rows, t.keys, t.d_v, key_gradient(g.grad_value, t.d_v),
                    g.grad_value.stride, q > 0, copy);
    softmax_gradient_rows(t, rows, weights, gradients);
    const Strided to = t.query_rows(g.grad_query, q, t.d_k);
    multiply_panels({weights, t.stride, 1}, key_panels, t.keys, rows, t.d_k, const_cast<float*>(to.data),
                    to.row, false, copy);
    pack_panels(query, rows, t.d_k, query_panels);
    multiply_panels({weights, 1, t.stride}, query_panels, rows, t.keys, t.d_k, key_gradient(g.grad_key, t.d_k),
                    g.grad_key.stride, q > 0, copy);
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(attention_scratch);
HWY_EXPORT(attend);
HWY_EXPORT(attend_gradient);

int64_t most_keys(const kernel::Attention& p) {
  int64_t most = 0;
  for (const auto& span : p.spans) most = std::max<int64_t>(most, span.key_count);
  return most;
}

}  // namespace

void CpuBackend::compute(const kernel::Attention& p) {
  const int64_t keys = most_keys(p), scratch = HWY_DYNAMIC_DISPATCH(attention_scratch)(p, keys);
  split(static_cast<int64_t>(p.spans.size()) * p.heads, 16 * keys * (p.query.cols + p.value.cols) / p.heads,
        [&](int64_t begin, int64_t end, int thread) {
          float* memory = private_[static_cast<size_t>(thread)].floats(scratch);
          for (int64_t task = begin; task < end; ++task) HWY_DYNAMIC_DISPATCH(attend)(p, task, memory);
        });
}

void CpuBackend::compute(const kernel::AttentionGradient& g) {
  const int64_t keys = most_keys(g.forward), scratch = HWY_DYNAMIC_DISPATCH(attention_scratch)(g.forward, keys);
  split(static_cast<int64_t>(g.forward.spans.size()) * g.forward.heads,
        40 * keys * (g.forward.query.cols + g.forward.value.cols) / g.forward.heads,
        [&](int64_t begin, int64_t end, int thread) {
          float* memory = private_[static_cast<size_t>(thread)].floats(scratch);
          for (int64_t task = begin; task < end; ++task) HWY_DYNAMIC_DISPATCH(attend_gradient)(g, task, memory);
        });
}

}  // namespace sixfold
#endif
