#include <algorithm>

#include "backend/reference/kernels.h"

namespace sixfold::reference {
namespace {

/// Calls visit(query, tap, row) for each row that the convolution reads, in the order of the queries.
template <class Visit>
void for_each_tap(const ConvolutionWindow& window, Visit visit) {
  for (int64_t i = 0; i < window.spans.size; ++i) {
    const AttentionSpan& span = window.spans.data[i];
    for (int64_t j = 0; j < span.query_count; ++j) {
      const auto taps = window.taps(span, j);
      for (int64_t tap = taps.begin; tap < taps.end; ++tap)
        visit(span.query_begin + j, tap, span.key_row(taps.first + tap, window.key_rows));
    }
  }
}

}  // namespace

void compute(const kernel::Unfold& k) {
  compute(kernel::Fill{k.out, 0});
  with_type(k.out.dtype, [&]<class T>(T) {
    for_each_tap(k.window, [&](int64_t query, int64_t tap, int64_t row) {
      std::copy_n(k.x.row<T>(row), k.x.cols, k.out.row<T>(query) + tap * k.x.cols);
    });
  });
}

void compute(const kernel::Fold& k) {
  compute(kernel::Fill{k.grad_x, 0});
  with_type(k.grad_x.dtype, [&]<class T>(T) {
    for_each_tap(k.window, [&](int64_t query, int64_t tap, int64_t row) {
      const T* from = k.grad_out.row<T>(query) + tap * k.grad_x.cols;
      for (int64_t c = 0; c < k.grad_x.cols; ++c) k.grad_x.row<T>(row)[c] += from[c];
    });
  });
}

void compute(const kernel::Depthwise& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.out.rows; ++r)
      for (int64_t c = 0; c < k.out.cols; ++c) k.out.row<T>(r)[c] = k.bias ? k.bias.as<T>()[c] : T{0};
    for_each_tap(k.window, [&](int64_t query, int64_t tap, int64_t row) {
      const T* weight = k.weight.row<T>(k.flipped ? k.window.size - 1 - tap : tap);
      for (int64_t c = 0; c < k.out.cols; ++c) k.out.row<T>(query)[c] += weight[c] * k.x.row<T>(row)[c];
    });
  });
}

void compute(const kernel::DepthwiseWeightGradient& k) {
  with_type(k.grad_out.dtype, [&]<class T>(T) {
    for_each_tap(k.window, [&](int64_t query, int64_t tap, int64_t row) {
      for (int64_t c = 0; c < k.x.cols; ++c)
        k.grad_weight.row<T>(tap)[c] += k.grad_out.row<T>(query)[c] * k.x.row<T>(row)[c];
    });
  });
}

}  // namespace sixfold::reference
