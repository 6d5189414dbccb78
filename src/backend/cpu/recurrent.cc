#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/recurrent.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/exponential.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

template <class Load>
HWY_INLINE Vector load_or_zero(const Load& load, const float* x, int64_t i) {
  return x ? load(x + i) : hn::Zero(Floats());
}

HWY_INLINE const float* row_or_null(const View& x, int64_t r) { return x ? x.row<float>(r) : nullptr; }

/// The derivatives of the sigmoid, x (1 - x), and of tanh, 1 - x^2, given the value x of the function.
HWY_INLINE Vector logistic_slope(Vector x) { return hn::NegMulAdd(x, x, x); }
HWY_INLINE Vector tangent_slope(Vector x) { return hn::NegMulAdd(x, x, hn::Set(Floats(), 1.0f)); }

void lstm_row(const kernel::RecurrentStep& k, int64_t r) {
  const int64_t d = k.state.cols;
  float *g = k.gates.row<float>(r), *h = k.state.row<float>(r), *c = k.memory.row<float>(r);
  const float* previous = row_or_null(k.previous_memory, r);
  over_vectors(d, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    const auto input = logistic(load(g + i)), forget = logistic(load(g + d + i)),
               value = hyperbolic_tangent(load(g + 2 * d + i)), output = logistic(load(g + 3 * d + i));
    const auto memory = hn::MulAdd(forget, load_or_zero(load, previous, i), hn::Mul(input, value));
    store(input, g + i), store(forget, g + d + i), store(value, g + 2 * d + i), store(output, g + 3 * d + i);
    store(memory, c + i);
    store(hn::Mul(output, hyperbolic_tangent(memory)), h + i);
  });
}

void gru_row(const kernel::RecurrentStep& k, int64_t r) {
  const int64_t d = k.state.cols;
  float *g = k.gates.row<float>(r), *h = k.state.row<float>(r);
  const float *recurrent = k.recurrent.row<float>(r), *previous = row_or_null(k.previous_state, r);
  over_vectors(d, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    const auto reset = logistic(hn::Add(load(g + i), load(recurrent + i)));
    const auto update = logistic(hn::Add(load(g + d + i), load(recurrent + d + i)));
    const auto next = hyperbolic_tangent(hn::MulAdd(reset, load(recurrent + 2 * d + i), load(g + 2 * d + i)));
    store(reset, g + i), store(update, g + d + i), store(next, g + 2 * d + i);
    store(hn::MulAdd(update, hn::Sub(load_or_zero(load, previous, i), next), next), h + i);
  });
}

void tanh_row(const kernel::RecurrentStep& k, int64_t r) {
  float *g = k.gates.row<float>(r), *h = k.state.row<float>(r);
  over_vectors(k.state.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    const auto y = hyperbolic_tangent(load(g + i));
    store(y, g + i), store(y, h + i);
  });
}

void recurrent_rows(const kernel::RecurrentStep& k, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    switch (k.cell) {
      case RecurrentCell::tanh:
        tanh_row(k, r);
        break;
      case RecurrentCell::lstm:
        lstm_row(k, r);
        break;
      case RecurrentCell::gru:
        gru_row(k, r);
        break;
    }
  }
}

void lstm_gradient_row(const kernel::RecurrentStepGradient& k, int64_t r) {
  const int64_t d = k.forward.state.cols;
  const float *g = k.forward.gates.row<float>(r), *c = k.forward.memory.row<float>(r);
  const float *previous = row_or_null(k.forward.previous_memory, r), *outer = k.grad_state.row<float>(r),
              *carried_state = k.carried_state.row<float>(r);
  float *to = k.grad_gates.row<float>(r), *carried = k.carried_memory.row<float>(r);
  over_vectors(d, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    const auto grad = hn::Add(load(outer + i), load(carried_state + i));
    const auto input = load(g + i), forget = load(g + d + i), value = load(g + 2 * d + i),
               output = load(g + 3 * d + i);
    const auto y = hyperbolic_tangent(load(c + i));
    const auto memory = hn::MulAdd(hn::Mul(grad, output), tangent_slope(y), load(carried + i));
    store(hn::Mul(hn::Mul(memory, value), logistic_slope(input)), to + i);
    store(hn::Mul(hn::Mul(memory, load_or_zero(load, previous, i)), logistic_slope(forget)), to + d + i);
    store(hn::Mul(hn::Mul(memory, input), tangent_slope(value)), to + 2 * d + i);
    store(hn::Mul(hn::Mul(grad, y), logistic_slope(output)), to + 3 * d + i);
    store(hn::Mul(memory, forget), carried + i);
  });
}

void gru_gradient_row(const kernel::RecurrentStepGradient& k, int64_t r) {
  const int64_t d = k.forward.state.cols;
  const float *g = k.forward.gates.row<float>(r), *recurrent = k.forward.recurrent.row<float>(r);
  const float *previous = row_or_null(k.forward.previous_state, r), *outer = k.grad_state.row<float>(r);
  float *to = k.grad_gates.row<float>(r), *to_recurrent = k.grad_recurrent.row<float>(r),
        *carried = k.carried_state.row<float>(r);
  over_vectors(d, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    const Floats tag;
    const auto grad = hn::Add(load(outer + i), load(carried + i));
    const auto reset = load(g + i), update = load(g + d + i), next = load(g + 2 * d + i);
    const auto grad_next = hn::Mul(hn::Mul(grad, hn::Sub(hn::Set(tag, 1.0f), update)), tangent_slope(next));
    const auto grad_reset = hn::Mul(hn::Mul(grad_next, load(recurrent + 2 * d + i)), logistic_slope(reset));
    const auto grad_update =
        hn::Mul(hn::Mul(grad, hn::Sub(load_or_zero(load, previous, i), next)), logistic_slope(update));
    store(grad_reset, to + i), store(grad_update, to + d + i), store(grad_next, to + 2 * d + i);
    store(grad_reset, to_recurrent + i), store(grad_update, to_recurrent + d + i);
    store(hn::Mul(grad_next, reset), to_recurrent + 2 * d + i);
    store(hn::Mul(grad, update), carried + i);
  });
}

void tanh_gradient_row(const kernel::RecurrentStepGradient& k, int64_t r) {
  const float *h = k.forward.state.row<float>(r), *outer = k.grad_state.row<float>(r),
              *carried_state = k.carried_state.row<float>(r);
  float* to = k.grad_gates.row<float>(r);
  over_vectors(k.grad_state.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    store(hn::Mul(hn::Add(load(outer + i), load(carried_state + i)), tangent_slope(load(h + i))), to + i);
  });
}

void recurrent_gradient_rows(const kernel::RecurrentStepGradient& k, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    switch (k.forward.cell) {
      case RecurrentCell::tanh:
        tanh_gradient_row(k, r);
        break;
      case RecurrentCell::lstm:
        lstm_gradient_row(k, r);
        break;
      case RecurrentCell::gru:
        gru_gradient_row(k, r);
        break;
    }
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(recurrent_rows);
HWY_EXPORT(recurrent_gradient_rows);

constexpr int64_t cost = 16;  // cost of an element of the gates relative to a copy

}  // namespace

void CpuBackend::compute(const kernel::RecurrentStep& k) {
  split(k.state.rows, k.gates.cols * cost, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(recurrent_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::RecurrentStepGradient& k) {
  split(k.grad_state.rows, k.grad_gates.cols * cost, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(recurrent_gradient_rows)(k, begin, end);
  });
}

}  // namespace sixfold
#endif
