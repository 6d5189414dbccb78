#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/linear_recurrence.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/exponential.h"
#include "backend/cpu/simd.h"

// The features of a sequence are independent of one another. A task is a block of the columns of one sequence,
// so that several threads can share even a single long sequence.

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

inline constexpr int64_t recurrence_piece = 64;  // columns; four cache lines

/// The factor f of the previous state in the state of a token, for the features from i on.
template <class Load>
HWY_INLINE Vector kept_share(const kernel::LinearRecurrence& k, int64_t row, int64_t i, const Load& load) {
  if (k.gate) return logistic(load(k.gate.row<float>(row) + i));
  const float position = static_cast<float>(k.position.data[row]);
  return hn::Set(Floats(), position / (position + 1));
}

/// The state before token j of a span, or null if it is zero.
HWY_INLINE const float* state_before(const kernel::LinearRecurrence& k, const AttentionSpan& span, int64_t j) {
  if (j > 0) return k.out.row<float>(span.query_begin + j - 1);
  return span.key_count > 0 ? k.before.row<float>(span.key_row(span.key_count - 1, k.key_rows)) : nullptr;
}

/// Calls body(span, begin, count) for tasks [first, last).
template <class Body>
HWY_INLINE void over_tasks(const kernel::LinearRecurrence& k, int64_t first, int64_t last, const Body& body) {
  const int64_t cols = k.out.cols, pieces = (cols + recurrence_piece - 1) / recurrence_piece;
  for (int64_t task = first; task < last; ++task) {
    const int64_t begin = task % pieces * recurrence_piece;
    body(k.spans.data[task / pieces], begin, std::min(recurrence_piece, cols - begin));
  }
}

void recurrence_tasks(const kernel::LinearRecurrence& k, int64_t first, int64_t last) {
  const auto one = hn::Set(Floats(), 1.0f);
  over_tasks(k, first, last, [&](const AttentionSpan& span, int64_t begin, int64_t count) HWY_ATTR {
    for (int64_t j = 0; j < span.query_count; ++j) {
      const int64_t row = span.query_begin + j;
      const float *before = state_before(k, span, j), *value = k.value.row<float>(row);
      float* out = k.out.row<float>(row);
      over_vectors(count, [&](int64_t c, const auto& load, const auto& store) HWY_ATTR {
        const int64_t i = begin + c;
        const auto share = kept_share(k, row, i, load);
        const auto fresh = hn::Mul(hn::Sub(one, share), load(value + i));
        store(before ? hn::MulAdd(share, load(before + i), fresh) : fresh, out + i);
      });
    }
  });
}

void recurrence_gradient_tasks(const kernel::LinearRecurrenceGradient& g, int64_t first, int64_t last) {
  const kernel::LinearRecurrence& k = g.forward;
  const Floats d;
  const auto one = hn::Set(d, 1.0f);
  over_tasks(k, first, last, [&](const AttentionSpan& span, int64_t begin, int64_t count) HWY_ATTR {
    float later[recurrence_piece] = {};  // the gradient of a state through the states after it
    for (int64_t j = span.query_count; j-- > 0;) {
      const int64_t row = span.query_begin + j;
      const float *before = state_before(k, span, j), *value = k.value.row<float>(row);
      const float* grad_out = g.grad_out.row<float>(row);
      float* grad_value = g.grad_value.row<float>(row);
      float* grad_gate = g.grad_gate ? g.grad_gate.row<float>(row) : nullptr;
      over_vectors(count, [&](int64_t c, const auto& load, const auto& store) HWY_ATTR {
        const int64_t i = begin + c;
        const auto share = kept_share(k, row, i, load), rest = hn::Sub(one, share);
        const auto grad = hn::Add(load(grad_out + i), load(later + c));
        store(hn::Mul(rest, grad), grad_value + i);
        if (grad_gate) {
          const auto change = hn::Sub(before ? load(before + i) : hn::Zero(d), load(value + i));
          store(hn::Mul(hn::Mul(grad, change), hn::Mul(share, rest)), grad_gate + i);
        }
        store(hn::Mul(share, grad), later + c);
      });
    }
  });
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(recurrence_tasks);
HWY_EXPORT(recurrence_gradient_tasks);

/// The tasks of a recurrence.
struct Work {
  explicit Work(const kernel::LinearRecurrence& k) {
    constexpr int64_t piece = HWY_NAMESPACE::recurrence_piece, cost_of_element = 8;
    tasks = k.spans.size * ((k.out.cols + piece - 1) / piece);
    if (tasks > 0) cost = cost_of_element * piece * k.out.rows / k.spans.size;
  }
  int64_t tasks, cost = 0;
};

}  // namespace

void CpuBackend::compute(const kernel::LinearRecurrence& k) {
  const Work work(k);
  split(work.tasks, work.cost, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(recurrence_tasks)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::LinearRecurrenceGradient& g) {
  const Work work(g.forward);
  split(work.tasks, work.cost, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(recurrence_gradient_tasks)(g, begin, end);
  });
}

}  // namespace sixfold
#endif
