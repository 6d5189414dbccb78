#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/convolution.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Calls body(span, j) for the queries whose rows are in [begin, end).
template <class Body>
HWY_INLINE void over_queries(const ConvolutionWindow& window, int64_t begin, int64_t end, const Body& body) {
  for (int64_t s = 0; s < window.spans.size; ++s) {
    const AttentionSpan span = window.spans.data[s];
    const int64_t first = std::max<int64_t>(begin - span.query_begin, 0);
    const int64_t last = std::min<int64_t>(end - span.query_begin, span.query_count);
    for (int64_t j = first; j < last; ++j) body(span, j);
  }
}

void unfold_rows(const kernel::Unfold& k, int64_t begin, int64_t end) {
  const int64_t d = k.x.cols, size = k.window.size;
  over_queries(k.window, begin, end, [&](const AttentionSpan& span, int64_t j) HWY_ATTR {
    const ConvolutionWindow::Taps taps = k.window.taps(span, j);
    float* to = k.out.row<float>(span.query_begin + j);
    for (int64_t tap = 0; tap < size; ++tap, to += d)
      if (tap >= taps.begin && tap < taps.end)
        std::copy_n(k.x.row<float>(span.key_row(taps.first + tap, k.window.key_rows)), d, to);
      else
        std::fill_n(to, d, 0.0f);
  });
}

/// The queries that have read a row lie in the mirror image of the window.
void fold_rows(const kernel::Fold& k, int64_t begin, int64_t end) {
  const int64_t d = k.grad_x.cols, left = k.window.left, size = k.window.size;
  over_queries(k.window, begin, end, [&](const AttentionSpan& span, int64_t j) HWY_ATTR {
    const int64_t first = std::max<int64_t>(j + left - size + 1, 0);
    const int64_t last = std::min<int64_t>(j + left + 1, span.query_count);
    float* to = k.grad_x.row<float>(span.key_begin + j);
    over_vectors(d, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      auto sum = hn::Zero(Floats());
      for (int64_t query = first; query < last; ++query)
        sum = hn::Add(sum, load(k.grad_out.row<float>(span.query_begin + query) + (j + left - query) * d + i));
      store(sum, to + i);
    });
  });
}

void depthwise_rows(const kernel::Depthwise& k, int64_t begin, int64_t end) {
  const float* bias = k.bias.as<float>();
  over_queries(k.window, begin, end, [&](const AttentionSpan& span, int64_t j) HWY_ATTR {
    const ConvolutionWindow::Taps taps = k.window.taps(span, j);
    float* to = k.out.row<float>(span.query_begin + j);
    over_vectors(k.out.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      auto sum = bias ? load(bias + i) : hn::Zero(Floats());
      for (int64_t tap = taps.begin; tap < taps.end; ++tap) {
        const float* weight = k.weight.row<float>(k.flipped ? k.window.size - 1 - tap : tap);
        sum = hn::MulAdd(load(weight + i),
                         load(k.x.row<float>(span.key_row(taps.first + tap, k.window.key_rows)) + i), sum);
      }
      store(sum, to + i);
    });
  });
}

/// Computes columns [begin, end). Each element adds the queries in order.
void depthwise_weight_gradient_columns(const kernel::DepthwiseWeightGradient& k, int64_t begin, int64_t end) {
  over_queries(k.window, 0, k.grad_out.rows, [&](const AttentionSpan& span, int64_t j) HWY_ATTR {
    const ConvolutionWindow::Taps taps = k.window.taps(span, j);
    const float* grad = k.grad_out.row<float>(span.query_begin + j) + begin;
    for (int64_t tap = taps.begin; tap < taps.end; ++tap) {
      const float* x = k.x.row<float>(span.key_row(taps.first + tap, k.window.key_rows)) + begin;
      float* to = k.grad_weight.row<float>(tap) + begin;
      over_vectors(end - begin, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
        store(hn::MulAdd(load(grad + i), load(x + i), load(to + i)), to + i);
      });
    }
  });
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(unfold_rows);
HWY_EXPORT(fold_rows);
HWY_EXPORT(depthwise_rows);
HWY_EXPORT(depthwise_weight_gradient_columns);

}  // namespace

void CpuBackend::compute(const kernel::Unfold& k) {
  split(k.out.rows, k.out.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(unfold_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::Fold& k) {
  split(k.grad_out.rows, k.grad_out.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(fold_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::Depthwise& k) {
  split(k.out.rows, k.out.cols * k.window.size, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(depthwise_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::DepthwiseWeightGradient& k) {
  constexpr int64_t column_block = 64;  // columns; four cache lines
  const int64_t cols = k.x.cols;
  split((cols + column_block - 1) / column_block, k.x.rows * column_block * k.window.size,
        [&](int64_t begin, int64_t end, int) {
          HWY_DYNAMIC_DISPATCH(depthwise_weight_gradient_columns)
          (k, begin * column_block, std::min(cols, end * column_block));
        });
}

}  // namespace sixfold
#endif
