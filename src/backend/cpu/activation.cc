#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/activation.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/exponential.h"
#include "backend/cpu/simd.h"
#include "base/error.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// The value of a function and its derivative, for each lane.
struct ValueAndSlope {
  Vector value, slope;
};

/// x sigmoid(beta x). The argument of the exponential is never positive, so it can't overflow.
HWY_INLINE ValueAndSlope sigmoid_unit(Vector x, float beta) {
  const Floats d;
  const auto one = hn::Set(d, 1.0f), scaled = hn::Mul(x, hn::Set(d, beta));
  const auto e = exponential(hn::Neg(hn::Abs(scaled)));
  const auto large = hn::Div(one, hn::Add(one, e));  // the larger of sigmoid(beta x) and sigmoid(-beta x)
  const auto small = hn::Mul(e, large);
  const auto s = hn::IfThenElse(hn::Lt(scaled, hn::Zero(d)), small, large);
  return {hn::Mul(x, s), hn::MulAdd(hn::Mul(scaled, large), small, s)};
}

/// The value and the derivative of sigmoid(x).
HWY_INLINE ValueAndSlope sigmoid_of(Vector x) {
  const Floats d;
  const auto one = hn::Set(d, 1.0f);
  const auto e = exponential(hn::Neg(hn::Abs(x)));
  const auto large = hn::Div(one, hn::Add(one, e)), small = hn::Mul(e, large);
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(d)), small, large), hn::Mul(large, small)};
}

/// x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
HWY_INLINE ValueAndSlope tanh_gelu_unit(Vector x) {
  const Floats d;
  const auto factor = hn::Set(d, 1.5957691216057308f), cubic = hn::Set(d, 0.044715f);
  const auto one = hn::Set(d, 1.0f);
  const auto square = hn::Min(hn::Mul(x, x), hn::Set(d, 1e12f));  // beyond, sigmoid is 0 or 1
  const ValueAndSlope s = sigmoid_of(hn::Mul(hn::Mul(factor, x), hn::MulAdd(cubic, square, one)));
  const auto inner_slope = hn::Mul(factor, hn::MulAdd(hn::Set(d, 3 * 0.044715f), square, one));
  return {hn::Mul(x, s.value), hn::MulAdd(hn::Mul(x, s.slope), inner_slope, s.value)};
}

/// x Phi(x). The tail of the normal distribution is computed by formula 7.1.26 of Abramowitz and Stegun, with
/// an error below 1.5e-7.
HWY_INLINE ValueAndSlope gelu_unit(Vector x) {
  const Floats d;
  const auto one = hn::Set(d, 1.0f), half = hn::Set(d, 0.5f);
  const auto z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752f));
  const auto e = exponential(hn::Neg(hn::Mul(z, z)));  // exp(-x^2 / 2)
  const auto t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3275911f), z, one));
  auto series = hn::Set(d, 1.061405429f);
  series = hn::MulAdd(series, t, hn::Set(d, -1.453152027f));
  series = hn::MulAdd(series, t, hn::Set(d, 1.421413741f));
  series = hn::MulAdd(series, t, hn::Set(d, -0.284496736f));
  series = hn::MulAdd(series, t, hn::Set(d, 0.254829592f));
  const auto tail = hn::Mul(half, hn::Mul(hn::Mul(series, t), e));  // Phi(-|x|)
  const auto distribution = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
  const auto density = hn::Mul(e, hn::Set(d, 0.39894228040143268f));
  return {hn::Mul(x, distribution), hn::MulAdd(x, density, distribution)};
}

HWY_INLINE ValueAndSlope tanh_of(Vector x) {
  const auto value = hyperbolic_tangent(x);
  return {value, hn::NegMulAdd(value, value, hn::Set(Floats(), 1.0f))};
}

HWY_INLINE ValueAndSlope activation_at(Activation activation, Vector x) {
  const Floats d;
  switch (activation) {
    case Activation::swish:
      return sigmoid_unit(x, 1.0f);
    case Activation::sigmoid_gelu:
      return sigmoid_unit(x, 1.702f);
    case Activation::gelu:
      return gelu_unit(x);
    case Activation::tanh_gelu:
      return tanh_gelu_unit(x);
    case Activation::sigmoid:
      return sigmoid_of(x);
    case Activation::tanh:
      return tanh_of(x);
    case Activation::relu:
      return {hn::Max(x, hn::Zero(d)), hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f))};
  }
  throw_unknown("activation", activation);
}

void activate_rows(const kernel::Activate& k, int64_t begin, int64_t end) {
  const Activation activation = k.activation;
  for (int64_t r = begin; r < end; ++r) {
    float *to = k.out.row<float>(r), *x = k.x.row<float>(r);
    over_vectors(k.out.cols, [&](int64_t i, const auto& load, const auto& store)
                                 HWY_ATTR { store(activation_at(activation, load(x + i)).value, to + i); });
  }
}

void activate_gradient_rows(const kernel::ActivateGradient& k, int64_t begin, int64_t end) {
  const Activation activation = k.activation;
  for (int64_t r = begin; r < end; ++r) {
    float *to = k.grad_x.row<float>(r), *from = k.grad_out.row<float>(r), *x = k.x.row<float>(r);
    over_vectors(k.x.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      store(hn::Mul(load(from + i), activation_at(activation, load(x + i)).slope), to + i);
    });
  }
}

void gate_rows(const kernel::Gate& k, int64_t begin, int64_t end) {
  const Floats d;
  for (int64_t r = begin; r < end; ++r) {
    float *to = k.out.row<float>(r), *x = k.x.row<float>(r), *gate = k.gate.row<float>(r);
    over_vectors(k.out.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      store(hn::MulAdd(load(x + i), logistic(load(gate + i)), k.accumulate ? load(to + i) : hn::Zero(d)),
            to + i);
    });
  }
}

void gate_gradient_rows(const kernel::GateGradient& k, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    float *grad_x = k.grad_x.row<float>(r), *grad_gate = k.grad_gate.row<float>(r);
    float *from = k.grad_out.row<float>(r), *x = k.x.row<float>(r), *gate = k.gate.row<float>(r);
    over_vectors(k.grad_out.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      const auto grad = load(from + i);
      const ValueAndSlope sigmoid = sigmoid_of(load(gate + i));
      store(hn::Mul(hn::Mul(grad, load(x + i)), sigmoid.slope), grad_gate + i);
      store(hn::Mul(grad, sigmoid.value), grad_x + i);
    });
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(activate_rows);
HWY_EXPORT(activate_gradient_rows);
HWY_EXPORT(gate_rows);
HWY_EXPORT(gate_gradient_rows);

constexpr int64_t cost = 8;  // cost of an element relative to a copy

}  // namespace

void CpuBackend::compute(const kernel::Activate& k) {
  split(k.out.rows, k.out.cols * cost, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(activate_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::ActivateGradient& k) {
  split(k.x.rows, k.x.cols * cost, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(activate_gradient_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::Gate& k) {
  split(k.out.rows, k.out.cols * cost, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(gate_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::GateGradient& k) {
  split(k.grad_out.rows, k.grad_out.cols * cost, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(gate_gradient_rows)(k, begin, end);
  });
}

}  // namespace sixfold
#endif
