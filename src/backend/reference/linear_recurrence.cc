#include <vector>

#include "backend/reference/kernels.h"
#include "backend/reference/sigmoid.h"

namespace sixfold::reference {
namespace {

/// The factor f of the previous state in the state of a token.
template <class T>
T kept_share(const kernel::LinearRecurrence& k, int64_t row, int64_t feature) {
  if (k.gate) return sigmoid(k.gate.row<T>(row)[feature]);
  const T position = static_cast<T>(k.position.data[row]);
  return position / (position + 1);
}

/// The state before token j of a span, or null if it is zero.
template <class T>
const T* state_before(const kernel::LinearRecurrence& k, const AttentionSpan& span, int64_t j) {
  if (j > 0) return k.out.row<T>(span.query_begin + j - 1);
  return span.key_count > 0 ? k.before.row<T>(span.key_row(span.key_count - 1, k.key_rows)) : nullptr;
}

}  // namespace

void compute(const kernel::LinearRecurrence& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < k.spans.size; ++i) {
      const AttentionSpan& span = k.spans.data[i];
      for (int64_t j = 0; j < span.query_count; ++j) {
        const int64_t row = span.query_begin + j;
        const T* before = state_before<T>(k, span, j);
        for (int64_t c = 0; c < k.out.cols; ++c) {
          const T share = kept_share<T>(k, row, c);
          k.out.row<T>(row)[c] = share * (before ? before[c] : T{0}) + (1 - share) * k.value.row<T>(row)[c];
        }
      }
    }
  });
}

/// `grad` is the gradient of the state of the current token, through its own output and through later states.
void compute(const kernel::LinearRecurrenceGradient& g) {
  const kernel::LinearRecurrence& k = g.forward;
  with_type(g.grad_out.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < k.spans.size; ++i) {
      const AttentionSpan& span = k.spans.data[i];
      std::vector<T> later(static_cast<size_t>(k.out.cols), T{0});
      for (int64_t j = span.query_count; j-- > 0;) {
        const int64_t row = span.query_begin + j;
        const T* before = state_before<T>(k, span, j);
        for (int64_t c = 0; c < k.out.cols; ++c) {
          const T share = kept_share<T>(k, row, c);
          const T grad = g.grad_out.row<T>(row)[c] + later[static_cast<size_t>(c)];
          const T change = (before ? before[c] : T{0}) - k.value.row<T>(row)[c];
          g.grad_value.row<T>(row)[c] = (1 - share) * grad;
          if (g.grad_gate) g.grad_gate.row<T>(row)[c] = grad * change * share * (1 - share);
          later[static_cast<size_t>(c)] = share * grad;
        }
      }
    }
  });
}

}  // namespace sixfold::reference
