// Exponentials over rows. Included once for each instruction set.
#if defined(SIXFOLD_CPU_EXPONENTIAL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SIXFOLD_CPU_EXPONENTIAL_H
#undef SIXFOLD_CPU_EXPONENTIAL_H
#else
#define SIXFOLD_CPU_EXPONENTIAL_H
#endif

#include <limits>

#include "backend/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Returns exp(x) for x <= 0, within 2 units in the last place; 0 below -87; NaN for NaN.
HWY_INLINE Vector exponential(Vector x) {
  const Floats d;
  const hn::RebindToSigned<Floats> ints;
  const auto low = hn::Set(d, -87.0f);
  const auto bounded = hn::IfThenElse(hn::Lt(x, low), low, x);  // unlike a maximum, NaN stays NaN
  // x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 is split into two parts. exp(r) is computed by its series, and
  // multiplied by 2^n through the exponent bits.
  const auto shift = hn::Set(d, to_integer);
  const auto shifted = hn::Add(hn::Mul(bounded, hn::Set(d, 1.44269504088896341f)), shift);
  const auto n = hn::Sub(shifted, shift);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), bounded);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860682030941723212e-6f), r);
  auto y = hn::Set(d, 1.0f / 5040);
  y = hn::MulAdd(y, r, hn::Set(d, 1.0f / 720));
  y = hn::MulAdd(y, r, hn::Set(d, 1.0f / 120));
  y = hn::MulAdd(y, r, hn::Set(d, 1.0f / 24));
  y = hn::MulAdd(y, r, hn::Set(d, 1.0f / 6));
  y = hn::MulAdd(y, r, hn::Set(d, 0.5f));
  y = hn::MulAdd(y, r, hn::Set(d, 1.0f));
  y = hn::MulAdd(y, r, hn::Set(d, 1.0f));
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::BitCast(ints, shifted), hn::Set(ints, 127)));
  y = hn::Mul(y, hn::BitCast(d, power));
  return hn::IfThenZeroElse(hn::Lt(x, low), y);
}

/// Returns 1 / (1 + exp(-x)). The argument of the exponential is never positive, so it can't overflow.
HWY_INLINE Vector logistic(Vector x) {
  const Floats d;
  const auto e = exponential(hn::Neg(hn::Abs(x)));
  const auto large = hn::Div(hn::Set(d, 1.0f), hn::Add(hn::Set(d, 1.0f), e));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(e, large), large);
}

/// Returns tanh(x), with an absolute error of about 1e-7.
HWY_INLINE Vector hyperbolic_tangent(Vector x) {
  const Floats d;
  const auto one = hn::Set(d, 1.0f);
  const auto e = exponential(hn::Mul(hn::Abs(x), hn::Set(d, -2.0f)));
  return hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
}

/// Returns the largest of n values; -infinity if there are none.
HWY_INLINE float largest_of(const float* x, int64_t n) {
  const Floats d;
  constexpr int several = 4;  // so that a maximum does not wait for the one before it
  const auto none = hn::Set(d, -std::numeric_limits<float>::infinity());
  Vector largest[several] = {none, none, none, none};
  int64_t i = 0;
  for (; i + several * lanes <= n; i += several * lanes)
    for (int j = 0; j < several; ++j) largest[j] = hn::Max(largest[j], hn::LoadU(d, x + i + j * lanes));
  for (; i + lanes <= n; i += lanes) largest[0] = hn::Max(largest[0], hn::LoadU(d, x + i));
  float result = max_lanes(hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3])));
  for (; i < n; ++i) result = std::max(result, x[i]);
  return result;
}

/// Returns the sum of exp(x - largest).
HWY_INLINE float sum_of_exponentials(const float* x, int64_t n, float largest) {
  const Floats d;
  const auto shift = hn::Set(d, largest);
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, exponential(hn::Sub(hn::LoadU(d, x + i), shift)));
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
    sum = hn::Add(sum, hn::IfThenElseZero(mask, exponential(hn::Sub(load_first(x + i, n - i), shift))));
  }
  return sum_lanes(sum);
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
