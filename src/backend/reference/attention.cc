#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/dropout.h"
#include "backend/reference/kernels.h"
#include "base/bf16.h"

namespace sixfold::reference {
namespace {

/// One query in one head. It depends on no other query and no other head.
struct HeadQuery {
  const kernel::Attention& attention;
  AttentionSpan span;
  int head;
  int64_t row;    ///< row of `query` and `out`
  int64_t place;  ///< place of the query among the keys
  int64_t first,
      visible;  ///< the keys that it attends to: the place of the first in the span, and their number

  /// Returns the head's block of columns of queries and results.
  template <class T>
  T* block(View x, int64_t r) const {
    return x.row<T>(r) + head * (x.cols / attention.heads);
  }
  /// Returns the block of columns of keys or values that the head uses, at a place of the span.
  template <class T>
  T* shared_block(View x, int64_t at) const {
    return x.row<T>(span.key_row(at, attention.key_rows)) +
           head / attention.group * (x.cols / attention.kv_heads());
  }
  /// The element of a distance bias for a place of the span.
  template <class T>
  T* bias(View x, int64_t at) const {
    return x.row<T>((x.rows - 1) / 2 + at - place) + head;
  }

  template <class T>
  T dropped(int64_t at, T x) const {
    Dropout dropout = attention.dropout;
    dropout.module = weight_module(dropout, head);
    return apply_dropout(dropout, row, at, x);
  }
};

template <class Visit>
void for_each_query(const kernel::Attention& attention, Visit visit) {
  for (int64_t i = 0; i < attention.device_spans.size; ++i) {
    const AttentionSpan& span = attention.device_spans.data[i];
    for (int head = 0; head < attention.heads; ++head)
      for (int64_t j = 0; j < span.query_count; ++j) {
        const int64_t place = span.key_count - span.query_count + j, window = attention.window;
        const int64_t first = std::max<int64_t>(place - window, 0);
        const int64_t last = std::min<int64_t>(attention.causal ? place : place + window, span.key_count - 1);
        visit(HeadQuery{attention, span, head, span.query_begin + j, place, first,
                        std::max<int64_t>(last + 1 - first, 0)});
      }
  }
}

template <class T>
T dot(const T* a, const T* b, int64_t count) {
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/// y += factor * x
template <class T>
void add_scaled(T* y, T factor, const T* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

template <class T>
T score_scale(const kernel::Attention& attention) {
  if (!attention.scaled || attention.score_weight) return 1;
  return static_cast<T>(1 / std::sqrt(static_cast<double>(attention.query.cols / attention.heads)));
}

/// The score of a key before scaling: query key^T, or score_weight tanh(query + key).
template <class T>
T unscaled_score(const HeadQuery& q, int64_t at) {
  const kernel::Attention& a = q.attention;
  const T *query = q.block<T>(a.query, q.row), *key = q.shared_block<T>(a.key, at);
  const int64_t d_k = a.query.cols / a.heads;
  if (!a.score_weight) return dot(query, key, d_k);
  const T* weight = q.block<T>(a.score_weight, 0);
  T sum = 0;
  for (int64_t i = 0; i < d_k; ++i) sum += weight[i] * std::tanh(query[i] + key[i]);
  return sum;
}

/// The score of each visible key, minus the largest of these scores. The subtraction is done before the
/// scaling: the rounding error of a large product would be large compared with the differences. With a bias the
/// scores are scaled before it is added.
template <class T>
std::vector<T> scores(const HeadQuery& q) {
  const kernel::Attention& a = q.attention;
  const T scale = score_scale<T>(a);
  std::vector<T> result(q.visible);
  for (int64_t j = 0; j < q.visible; ++j) {
    result[j] = unscaled_score<T>(q, q.first + j);
    if (a.distance_bias) result[j] = result[j] * scale + *q.bias<T>(a.distance_bias, q.first + j);
  }
  const T largest = result.empty() ? 0 : *std::max_element(result.begin(), result.end());
  for (T& score : result) score = (a.distance_bias ? 1 : scale) * (score - largest);
  return result;
}

/// Converts scores to the weights of the softmax.
template <class T>
std::vector<T> softmax(std::vector<T> scores, double logsumexp) {
  for (T& score : scores) score = static_cast<T>(std::exp(score - logsumexp));
  return scores;
}

template <class T>
void attend(const HeadQuery& q) {
  const kernel::Attention& a = q.attention;
  const int64_t d_v = a.out.cols / a.heads;
  std::vector<T> weights = scores<T>(q);
  const double logsumexp = log_sum_exp(weights.data(), q.visible);
  weights = softmax(std::move(weights), logsumexp);

  T* out = q.block<T>(a.out, q.row);
  std::fill_n(out, d_v, T{0});
  for (int64_t j = 0; j < q.visible; ++j)
    add_scaled(out, q.dropped(q.first + j, weights[j]), q.shared_block<T>(a.value, q.first + j), d_v);

  if (a.logsumexp) a.logsumexp.row<T>(q.row)[q.head] = static_cast<T>(logsumexp);
  if (a.weights) {
    T* kept = a.weights.row<T>(q.head * a.query.rows + q.row);
    std::fill_n(kept, a.weights.cols, T{0});
    std::copy(weights.begin(), weights.end(), kept + q.first);
  }
}

/// Adds to the gradients of the query, of the key at place `at` and of score_weight, given the gradient of
/// `unscaled_score`.
template <class T>
void unscaled_score_backwards(const HeadQuery& q, const kernel::AttentionGradient& g, int64_t at, T grad) {
  const kernel::Attention& a = q.attention;
  const int64_t d_k = a.query.cols / a.heads;
  const T *query = q.block<T>(a.query, q.row), *key = q.shared_block<T>(a.key, at);
  T *grad_query = q.block<T>(g.grad_query, q.row), *grad_key = q.shared_block<T>(g.grad_key, at);
  if (!a.score_weight) {
    add_scaled(grad_query, grad, key, d_k);
    add_scaled(grad_key, grad, query, d_k);
    return;
  }
  const T* weight = q.block<T>(a.score_weight, 0);
  T* grad_weight = q.block<T>(g.grad_score_weight, 0);
  for (int64_t i = 0; i < d_k; ++i) {
    const T y = std::tanh(query[i] + key[i]), inner = grad * weight[i] * (1 - y * y);
    grad_weight[i] += grad * y;
    grad_query[i] += inner;
    grad_key[i] += inner;
  }
}

/// The weights are computed again instead of being stored. With weights w and gradients g_j of weight j, the
/// gradient of score j is w_j * (g_j - sum of w_i * g_i).
template <class T>
void attend_backwards(const HeadQuery& q, const kernel::AttentionGradient& g) {
  const kernel::Attention& a = q.attention;
  const int64_t d_v = a.out.cols / a.heads;
  const std::vector<T> weights = softmax(scores<T>(q), a.logsumexp.row<T>(q.row)[q.head]);
  const T* grad_out = q.block<T>(g.grad_out, q.row);

  std::vector<T> grad_weights(q.visible);
  double mean = 0;
  for (int64_t j = 0; j < q.visible; ++j) {
    const int64_t at = q.first + j;
    add_scaled(q.shared_block<T>(g.grad_value, at), q.dropped(at, weights[j]), grad_out, d_v);
    grad_weights[j] = q.dropped(at, dot(grad_out, q.shared_block<T>(a.value, at), d_v));
    mean += static_cast<double>(weights[j]) * grad_weights[j];
  }
  for (int64_t j = 0; j < q.visible; ++j) {
    const T grad = static_cast<T>(weights[j] * (grad_weights[j] - mean));
    if (g.grad_distance_bias) *q.bias<T>(g.grad_distance_bias, q.first + j) += grad;
    unscaled_score_backwards(q, g, q.first + j, score_scale<T>(a) * grad);
  }
}

/// Replaces a matrix in bf16 by its elements as T, which are kept in `elements`.
template <class T>
void widen(View& x, std::vector<T>& elements) {
  if (x.dtype != DType::bf16) return;
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t c = 0; c < x.cols; ++c) elements.push_back(from_bf16(x.row<uint16_t>(r)[c]));
  x = {elements.data(), dtype_of<T>(), x.rows, x.cols, x.cols};
}

}  // namespace

void compute(const kernel::Attention& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    kernel::Attention attention = k;
    std::vector<T> keys, values;
    widen(attention.key, keys), widen(attention.value, values);
    for_each_query(attention, [](const HeadQuery& q) { attend<T>(q); });
  });
}

void compute(const kernel::AttentionGradient& g) {
  for (const View& gradient : {g.grad_query, g.grad_key, g.grad_value}) compute(kernel::Fill{gradient, 0});
  with_type(g.grad_out.dtype, [&]<class T>(T) {
    for_each_query(g.forward, [&](const HeadQuery& q) { attend_backwards<T>(q, g); });
  });
}

}  // namespace sixfold::reference
