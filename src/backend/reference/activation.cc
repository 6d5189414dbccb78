#include <cmath>

#include "backend/reference/kernels.h"
#include "backend/reference/sigmoid.h"

namespace sixfold::reference {
namespace {

/// The value of a function and its derivative at a point.
struct ValueAndSlope {
  double value, slope;
};

/// x sigmoid(beta x)
ValueAndSlope sigmoid_unit(double x, double beta) {
  const double s = sigmoid(beta * x);
  return {x * s, s + beta * x * s * (1 - s)};
}

ValueAndSlope activation_at(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return {std::fmax(x, 0), x > 0 ? 1.0 : 0.0};
    case Activation::swish:
      return sigmoid_unit(x, 1);
    case Activation::sigmoid_gelu:
      return sigmoid_unit(x, 1.702);
    case Activation::gelu: {
      const double distribution = 0.5 * std::erfc(-x * M_SQRT1_2);
      const double density = std::exp(-x * x / 2) * M_SQRT1_2 * M_2_SQRTPI / 2;
      return {x * distribution, distribution + x * density};
    }
    case Activation::tanh_gelu: {  // 1/2 (1 + tanh(u)) = sigmoid(2 u)
      const double factor = 2 * std::sqrt(M_2_PI), s = sigmoid(factor * (x + 0.044715 * x * x * x));
      return {x * s, s + x * s * (1 - s) * factor * (1 + 3 * 0.044715 * x * x)};
    }
    case Activation::sigmoid:
      return {sigmoid(x), sigmoid(x) * sigmoid(-x)};
    case Activation::tanh:
      return {std::tanh(x), 1 - std::tanh(x) * std::tanh(x)};
  }
  throw_unknown("activation", activation);
}

}  // namespace

void compute(const kernel::Activate& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.out.rows; ++r)
      for (int64_t c = 0; c < k.out.cols; ++c)
        k.out.row<T>(r)[c] = static_cast<T>(activation_at(k.activation, k.x.row<T>(r)[c]).value);
  });
}

void compute(const kernel::ActivateGradient& k) {
  with_type(k.x.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.x.rows; ++r)
      for (int64_t c = 0; c < k.x.cols; ++c)
        k.grad_x.row<T>(r)[c] =
            static_cast<T>(k.grad_out.row<T>(r)[c] * activation_at(k.activation, k.x.row<T>(r)[c]).slope);
  });
}

void compute(const kernel::Gate& k) {
  with_type(k.out.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.out.rows; ++r)
      for (int64_t c = 0; c < k.out.cols; ++c) {
        const T factor = static_cast<T>(sigmoid<double>(k.gate.row<T>(r)[c]));
        T& out = k.out.row<T>(r)[c];
        out = (k.accumulate ? out : T{0}) + k.x.row<T>(r)[c] * factor;
      }
  });
}

void compute(const kernel::GateGradient& k) {
  with_type(k.grad_out.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.grad_out.rows; ++r)
      for (int64_t c = 0; c < k.grad_out.cols; ++c) {
        const T grad = k.grad_out.row<T>(r)[c];
        const auto [value, slope] = activation_at(Activation::sigmoid, k.gate.row<T>(r)[c]);
        k.grad_x.row<T>(r)[c] = grad * static_cast<T>(value);
        k.grad_gate.row<T>(r)[c] = grad * k.x.row<T>(r)[c] * static_cast<T>(slope);
      }
  });
}

}  // namespace sixfold::reference
