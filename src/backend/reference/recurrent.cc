#include <algorithm>

#include "backend/reference/kernels.h"
#include "backend/reference/sigmoid.h"

namespace sixfold::reference {
namespace {

template <class T>
T at(const View& x, int64_t r, int64_t i) {
  return x ? x.row<T>(r)[i] : T{0};
}

/// Feature i of a row in one step. The gates are read from and written to g[0], g[d], g[2 d], ...
template <class T>
void step(const kernel::RecurrentStep& k, int64_t r, int64_t i) {
  const int64_t d = k.state.cols;
  T *g = k.gates.row<T>(r) + i, *h = k.state.row<T>(r) + i;
  switch (k.cell) {
    case RecurrentCell::tanh:
      *h = g[0] = std::tanh(g[0]);
      return;
    case RecurrentCell::lstm: {
      for (const int64_t gate : {int64_t{0}, d, 3 * d}) g[gate] = sigmoid(g[gate]);
      g[2 * d] = std::tanh(g[2 * d]);
      const T c = g[d] * at<T>(k.previous_memory, r, i) + g[0] * g[2 * d];
      k.memory.row<T>(r)[i] = c;
      *h = g[3 * d] * std::tanh(c);
      return;
    }
    case RecurrentCell::gru: {
      const T* recurrent = k.recurrent.row<T>(r) + i;
      g[0] = sigmoid(g[0] + recurrent[0]);
      g[d] = sigmoid(g[d] + recurrent[d]);
      g[2 * d] = std::tanh(g[2 * d] + g[0] * recurrent[2 * d]);
      *h = (1 - g[d]) * g[2 * d] + g[d] * at<T>(k.previous_state, r, i);
    }
  }
}

template <class T>
void lstm_gradient(const kernel::RecurrentStepGradient& k, int64_t r, int64_t i, T grad) {
  const int64_t d = k.forward.state.cols;
  const T *g = k.forward.gates.row<T>(r) + i, input = g[0], forget = g[d], value = g[2 * d], output = g[3 * d];
  T *to = k.grad_gates.row<T>(r) + i, *carried = k.carried_memory.row<T>(r) + i;
  const T y = std::tanh(k.forward.memory.row<T>(r)[i]);
  const T grad_memory = *carried + grad * output * (1 - y * y);
  to[0] = grad_memory * value * input * (1 - input);
  to[d] = grad_memory * at<T>(k.forward.previous_memory, r, i) * forget * (1 - forget);
  to[2 * d] = grad_memory * input * (1 - value * value);
  to[3 * d] = grad * y * output * (1 - output);
  *carried = grad_memory * forget;
}

template <class T>
void gru_gradient(const kernel::RecurrentStepGradient& k, int64_t r, int64_t i, T grad) {
  const int64_t d = k.forward.state.cols;
  const T *g = k.forward.gates.row<T>(r) + i, reset = g[0], update = g[d], next = g[2 * d];
  const T recurrent = k.forward.recurrent.row<T>(r)[i + 2 * d];
  T *to = k.grad_gates.row<T>(r) + i, *to_recurrent = k.grad_recurrent.row<T>(r) + i;
  const T grad_next = grad * (1 - update) * (1 - next * next);
  const T grad_reset = grad_next * recurrent * reset * (1 - reset);
  const T grad_update = grad * (at<T>(k.forward.previous_state, r, i) - next) * update * (1 - update);
  to[0] = to_recurrent[0] = grad_reset;
  to[d] = to_recurrent[d] = grad_update;
  to[2 * d] = grad_next;
  to_recurrent[2 * d] = grad_next * reset;
  k.carried_state.row<T>(r)[i] = grad * update;
}

template <class T>
void step_gradient(const kernel::RecurrentStepGradient& k, int64_t r, int64_t i) {
  const T grad = k.grad_state.row<T>(r)[i] + k.carried_state.row<T>(r)[i];
  switch (k.forward.cell) {
    case RecurrentCell::tanh: {
      const T h = k.forward.state.row<T>(r)[i];
      k.grad_gates.row<T>(r)[i] = grad * (1 - h * h);
      return;
    }
    case RecurrentCell::lstm:
      return lstm_gradient(k, r, i, grad);
    case RecurrentCell::gru:
      return gru_gradient(k, r, i, grad);
  }
  throw_unknown("recurrent cell", k.forward.cell);
}

}  // namespace

void compute(const kernel::RecurrentStep& k) {
  with_type(k.state.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.state.rows; ++r)
      for (int64_t i = 0; i < k.state.cols; ++i) step<T>(k, r, i);
  });
}

void compute(const kernel::RecurrentStepGradient& k) {
  with_type(k.grad_state.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.grad_state.rows; ++r)
      for (int64_t i = 0; i < k.grad_state.cols; ++i) step_gradient<T>(k, r, i);
  });
}

void compute(const kernel::LastRows& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < k.spans.size; ++i) {
      const AttentionSpan& span = k.spans.data[i];
      if (span.key_count == 0)
        std::fill_n(k.out.row<T>(i), k.out.cols, T{0});
      else
        std::copy_n(k.x.row<T>(span.key_row(span.key_count - 1, k.key_rows)), k.out.cols, k.out.row<T>(i));
    }
  });
}

}  // namespace sixfold::reference
