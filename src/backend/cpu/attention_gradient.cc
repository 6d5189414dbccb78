#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention_gradient.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/attention_task.h"
#include "backend/cpu/cpu_backend.h"

// A task is one head of keys and values of one sequence, with the heads of queries that share it. Gradients of
// weights that all sequences share are added sequence by sequence: there the tasks of a head are one task.

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

int64_t attention_gradient_scratch(const kernel::Attention& p, int64_t max_keys) {
  return task_scratch(p, max_keys);
}

/// Replaces the weights w by the gradients of the scaled scores: w (g - sum(w g)) * scale, where g is the
/// gradient of the weights.
HWY_INLINE void softmax_gradient_rows(const HeadTask& t, int64_t rows, float* weights, const float* gradients) {
  const Floats d;
  for (int64_t i = 0; i < rows; ++i) {
    float* w = weights + i * t.stride;
    const float* g = gradients + i * t.stride;
    auto products = hn::Zero(d);
    for (int64_t j = 0; j < t.stride; j += lanes)
      products = hn::MulAdd(hn::LoadU(d, w + j), hn::LoadU(d, g + j), products);
    const auto mean = hn::Set(d, sum_lanes(products)), factor = hn::Set(d, t.scale);
    for (int64_t j = 0; j < t.stride; j += lanes)
      hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, w + j), factor), hn::Sub(hn::LoadU(d, g + j), mean)), d, w + j);
  }
}

/// Computes the weights again, from the unscaled scores and the stored `logsumexp`.
HWY_INLINE void recompute_weights(const HeadTask& t, int64_t first, int64_t rows, float* scores) {
  for (int64_t i = 0; i < rows; ++i) {
    float* x = scores + i * t.stride;
    const float largest = prepare_scores(t, first + i, x);
    exponentials(t, x, t.visible_end(first + i), largest,
                 t.p.logsumexp.row<float>(t.span.query_begin + first + i)[t.head], [](Vector) HWY_ATTR {});
  }
}

/// bias gradients += the gradients of the scores of queries [first, first + rows), which are scaled.
HWY_INLINE void add_bias_gradients(const HeadTask& t, int64_t first, int64_t rows, const float* scores,
                                   const View& grad_bias) {
  const float unscale = 1.0f / t.scale;
  for (int64_t i = 0; i < rows; ++i) {
    const float* grad = scores + i * t.stride;
    for (int64_t j = t.visible_begin(first + i); j < t.visible_end(first + i); ++j)
      grad_bias.row<float>(t.bias_row(grad_bias, t.bias_offset(first + i) + j))[t.head] += grad[j] * unscale;
  }
}

/// The backward pass of `additive_scores`, given the gradients of the scores. Adds to the gradients of the keys
/// and of the weight, and overwrites those of the queries.
HWY_INLINE void additive_gradients(const HeadTask& t, const kernel::AttentionGradient& g, const Strided& query,
                                   int64_t first, int64_t rows, const float* scores) {
  const float* weight = t.p.score_weight.row<float>(0) + t.head * t.d_k;
  float* grad_weight = g.grad_score_weight.row<float>(0) + t.head * t.d_k;
  const Floats d;
  for (int64_t i = 0; i < rows; ++i) {
    const float* a = query.data + i * query.row;
    float* grad_a = const_cast<float*>(t.query_rows(g.grad_query, first + i, t.d_k).data);
    std::fill_n(grad_a, t.d_k, 0.0f);
    for (int64_t j = t.visible_begin(first + i); j < t.visible_end(first + i); ++j) {
      const float* b = t.key_side_row(t.p.key, j, t.d_k);
      float* grad_b = t.key_side_row(g.grad_key, j, t.d_k);
      const auto grad = hn::Set(d, scores[i * t.stride + j]);
      over_vectors(t.d_k, [&](int64_t f, const auto& load, const auto& store) HWY_ATTR {
        const auto y = hyperbolic_tangent(hn::Add(load(a + f), load(b + f)));
        const auto slope = hn::NegMulAdd(y, y, hn::Set(d, 1.0f));
        const auto inner = hn::Mul(hn::Mul(grad, load(weight + f)), slope);
        store(hn::MulAdd(grad, y, load(grad_weight + f)), grad_weight + f);
        store(hn::Add(load(grad_a + f), inner), grad_a + f);
        store(hn::Add(load(grad_b + f), inner), grad_b + f);
      });
    }
  }
}

/// The scratch memory of one part.
struct GradientMemory {
  float* copy;
  uint16_t* bits;
  float *key_columns, *value_columns;  ///< K^T and V^T, for the scores and the gradient of the weights
  float* key_panels;                   ///< K, for the gradient of the queries
  float *weights, *gradients, *dropped, *query_panels, *out_panels;

  explicit GradientMemory(HeadTask& t)
      : copy(t.allocate(tile_rows * a_stride)),
        bits(t.bits()),
        key_columns(t.allocate(panels_size(t.d_k, t.keys))),
        value_columns(t.allocate(panels_size(t.d_v, t.keys))),
        key_panels(t.allocate(panels_size(t.keys, t.d_k))),
        weights(t.allocate(query_block * t.stride)),
        gradients(t.allocate(query_block * t.stride)),
        dropped(t.p.dropout ? t.allocate(query_block * t.stride) : weights),
        query_panels(t.allocate(panels_size(query_block, t.d_k))),
        out_panels(t.allocate(panels_size(query_block, t.d_v))) {}
};

/// The gradients of queries [q, q + rows) of a part, given the gradients of the scores in m.weights.
HWY_INLINE void score_gradients(const HeadTask& t, const kernel::AttentionGradient& g, const GradientMemory& m,
                                const Strided& query, int64_t q, int64_t rows, bool accumulate) {
  if (t.p.score_weight) return additive_gradients(t, g, query, q, rows, m.weights);
  const Strided to = t.query_rows(g.grad_query, q, t.d_k);
  multiply_panels({m.weights, t.stride, 1}, m.key_panels, t.keys, rows, t.d_k, const_cast<float*>(to.data),
                  to.row, false, m.copy);
  pack_panels(query, rows, t.d_k, m.query_panels);
  multiply_panels({m.weights, 1, t.stride}, m.query_panels, rows, t.keys, t.d_k,
                  t.key_side_row(g.grad_key, 0, t.d_k), g.grad_key.stride, accumulate, m.copy);
}

/// The gradients of `attend_part`. `accumulate`: add to those of keys and values instead of overwriting them.
void attend_gradient_part(HeadTask& t, const kernel::AttentionGradient& g, bool accumulate) {
  const kernel::Attention& p = t.p;
  const GradientMemory m(t);
  const Strided keys = t.key_side(p.key, t.d_k), values = t.key_side(p.value, t.d_v);
  if (!p.score_weight) {
    pack_panels({keys.data, 1, keys.row}, t.d_k, t.keys, m.key_columns);
    pack_panels(keys, t.keys, t.d_k, m.key_panels);
  }
  pack_panels({values.data, 1, values.row}, t.d_v, t.keys, m.value_columns);
  for (int64_t q = 0; q < t.span.query_count; q += query_block, accumulate = true) {
    const int64_t rows = std::min<int64_t>(query_block, t.span.query_count - q);
    const Strided query = t.query_rows(p.query, q, t.d_k), grad_out = t.query_rows(g.grad_out, q, t.d_v);
    if (p.score_weight)
      additive_scores(t, query, keys, rows, t.keys, m.weights);
    else
      multiply_panels(query, m.key_columns, t.d_k, rows, t.keys, m.weights, t.stride, false, m.copy);
    recompute_weights(t, q, rows, m.weights);
    multiply_panels(grad_out, m.value_columns, t.d_v, rows, t.keys, m.gradients, t.stride, false, m.copy);
    for (int64_t i = 0; i < rows; ++i)
      std::fill(m.gradients + i * t.stride + t.keys, m.gradients + (i + 1) * t.stride, 0.0f);
    if (p.dropout) {
      std::copy_n(m.weights, rows * t.stride, m.dropped);
      apply_weight_dropout(t, q, rows, m.dropped, m.bits);
      apply_weight_dropout(t, q, rows, m.gradients, m.bits);
    }
    pack_panels(grad_out, rows, t.d_v, m.out_panels);
    multiply_panels({m.dropped, 1, t.stride}, m.out_panels, rows, t.keys, t.d_v,
                    t.key_side_row(g.grad_value, 0, t.d_v), g.grad_value.stride, accumulate, m.copy);
    softmax_gradient_rows(t, rows, m.weights, m.gradients);
    if (g.grad_distance_bias) add_bias_gradients(t, q, rows, m.weights, g.grad_distance_bias);
    score_gradients(t, g, m, query, q, rows, accumulate);
  }
}

void clear_key_gradients(const kernel::AttentionGradient& g, const AttentionSpan& span, int64_t kv_head) {
  for (const View& v : {g.grad_key, g.grad_value}) {
    const int64_t width = v.cols / g.forward.kv_heads();
    for (int64_t j = 0; j < span.key_count; ++j)
      std::fill_n(v.row<float>(span.key_begin + j) + kv_head * width, width, 0.0f);
  }
}

/// Computes the task of this number, which is span * kv_heads + head of keys and values.
void attend_gradient(const kernel::AttentionGradient& g, int64_t task, float* memory) {
  const kernel::Attention& p = g.forward;
  const AttentionSpan& span = p.device_spans.data[task / p.kv_heads()];
  const int64_t kv_head = task % p.kv_heads();
  bool accumulate = span.query_count == 0 || is_restricted(p) || p.score_weight;
  if (accumulate) clear_key_gradients(g, span, kv_head);
  for (int64_t head = kv_head * p.group; head < (kv_head + 1) * p.group; ++head)
    for (int64_t query = 0, queries = 1; queries > 0 && query < span.query_count; query += queries) {
      const Part part = part_of(p, span, query);
      HeadTask t(p, span, static_cast<int>(head), part, memory);
      attend_gradient_part(t, g, accumulate);
      queries = part.queries;
      accumulate = true;
    }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(attention_gradient_scratch);
HWY_EXPORT(attend_gradient);

}  // namespace

void CpuBackend::compute(const kernel::AttentionGradient& g) {
  const kernel::Attention& p = g.forward;
  const int64_t keys = p.max_keys(), scratch = HWY_DYNAMIC_DISPATCH(attention_gradient_scratch)(p, keys);
  const int64_t tasks = std::ssize(p.spans) * p.kv_heads();
  const int64_t cost = 40 * keys * (p.query.cols + p.out.cols) / p.kv_heads();
  // Gradients that all sequences share are added in the order of the sequences by one thread for each head.
  const int64_t step = g.grad_score_weight || g.grad_distance_bias ? p.kv_heads() : tasks;
  split(std::min(step, tasks), cost * (tasks / std::max<int64_t>(step, 1)),
        [&](int64_t begin, int64_t end, int thread) {
          float* memory = thread_scratch_[static_cast<size_t>(thread)].floats(scratch);
          for (int64_t first = begin; first < end; ++first)
            for (int64_t task = first; task < tasks; task += step)
              HWY_DYNAMIC_DISPATCH(attend_gradient)(g, task, memory);
        });
}

}  // namespace sixfold
#endif
