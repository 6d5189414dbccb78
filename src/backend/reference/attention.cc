#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/dropout.h"
#include "backend/reference/kernels.h"

namespace sixfold::reference {
namespace {

/// One query in one head. It depends on no other query and no other head.
struct HeadQuery {
  const kernel::Attention& attention;
  AttentionSpan span;
  int head;
  int64_t row;      ///< row of `query` and `out`
  int64_t visible;  ///< number of keys of the span that it attends to, from the first

  /// Returns the row of `key` and `value` at a place of the span.
  int64_t key_row(int64_t place) const {
    const int64_t index = span.key_begin + place;
    return attention.key_rows ? attention.key_rows.data[index] : index;
  }

  /// Returns the block of columns that belongs to the head.
  template <class T>
  T* block(View x, int64_t r) const {
    return x.row<T>(r) + head * (x.cols / attention.heads);
  }

  template <class T>
  T dropped(int64_t place, T x) const {
    Dropout dropout = attention.dropout;
    dropout.module = weight_module(dropout, head);
    return apply_dropout(dropout, row, place, x);
  }
};

template <class Visit>
void for_each_query(const kernel::Attention& attention, Visit visit) {
  for (int64_t i = 0; i < attention.device_spans.size; ++i) {
    const AttentionSpan& span = attention.device_spans.data[i];
    for (int head = 0; head < attention.heads; ++head)
      for (int64_t j = 0; j < span.query_count; ++j) {
        const int64_t last = attention.causal ? span.key_count - span.query_count + j : span.key_count - 1;
        visit(HeadQuery{attention, span, head, span.query_begin + j, std::max<int64_t>(last + 1, 0)});
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
  return static_cast<T>(1 / std::sqrt(static_cast<double>(attention.query.cols / attention.heads)));
}

/// query key^T / sqrt(d_k) for each visible key, minus the largest of these scores. The subtraction is done
/// before the scaling: the rounding error of a large product would be large compared with the differences.
template <class T>
std::vector<T> scores(const HeadQuery& q) {
  const kernel::Attention& a = q.attention;
  std::vector<T> result(q.visible);
  for (int64_t j = 0; j < q.visible; ++j)
    result[j] = dot(q.block<T>(a.query, q.row), q.block<T>(a.key, q.key_row(j)), a.query.cols / a.heads);
  const T largest = result.empty() ? 0 : *std::max_element(result.begin(), result.end());
  for (T& score : result) score = score_scale<T>(a) * (score - largest);
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
    add_scaled(out, q.dropped(j, weights[j]), q.block<T>(a.value, q.key_row(j)), d_v);

  if (a.logsumexp) a.logsumexp.row<T>(q.row)[q.head] = static_cast<T>(logsumexp);
  if (a.weights) {
    T* kept = a.weights.row<T>(q.head * a.query.rows + q.row);
    std::fill(std::copy(weights.begin(), weights.end(), kept), kept + a.weights.cols, T{0});
  }
}

/// The weights are computed again instead of being stored. With weights w and gradients g_j of weight j, the
/// gradient of score j is w_j * (g_j - sum of w_i * g_i).
template <class T>
void attend_backwards(const HeadQuery& q, const kernel::AttentionGradient& g) {
  const kernel::Attention& a = q.attention;
  const int64_t d_k = a.query.cols / a.heads, d_v = a.out.cols / a.heads;
  const std::vector<T> weights = softmax(scores<T>(q), a.logsumexp.row<T>(q.row)[q.head]);
  const T* grad_out = q.block<T>(g.grad_out, q.row);

  std::vector<T> grad_weights(q.visible);
  double mean = 0;
  for (int64_t j = 0; j < q.visible; ++j) {
    const int64_t row = q.key_row(j);
    add_scaled(q.block<T>(g.grad_value, row), q.dropped(j, weights[j]), grad_out, d_v);
    grad_weights[j] = q.dropped(j, dot(grad_out, q.block<T>(a.value, row), d_v));
    mean += static_cast<double>(weights[j]) * grad_weights[j];
  }
  for (int64_t j = 0; j < q.visible; ++j) {
    const int64_t row = q.key_row(j);
    const T grad_dot = score_scale<T>(a) * static_cast<T>(weights[j] * (grad_weights[j] - mean));
    add_scaled(q.block<T>(g.grad_query, q.row), grad_dot, q.block<T>(a.key, row), d_k);
    add_scaled(q.block<T>(g.grad_key, row), grad_dot, q.block<T>(a.query, q.row), d_k);
  }
}

}  // namespace

void compute(const kernel::Attention& k) {
  with_type(k.out.dtype, [&]<class T>(T) { for_each_query(k, [](const HeadQuery& q) { attend<T>(q); }); });
}

void compute(const kernel::AttentionGradient& g) {
  for (View gradient : {g.grad_query, g.grad_key, g.grad_value}) compute(kernel::Fill{gradient, 0});
  with_type(g.grad_out.dtype, [&]<class T>(T) {
    for_each_query(g.forward, [&](const HeadQuery& q) { attend_backwards<T>(q, g); });
  });
}

}  // namespace sixfold::reference
