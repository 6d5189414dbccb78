#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/optimizer.cc"
#include <hwy/foreach_target.h>

#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

void adam_range(const kernel::Adam& p, int64_t begin, int64_t end) {
  const Floats d;
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  const double correction1 = 1 - std::pow(p.beta1, static_cast<double>(p.step));
  const double correction2 = 1 - std::pow(p.beta2, static_cast<double>(p.step));
  const auto beta1 = set(p.beta1), beta2 = set(p.beta2), rest1 = set(1 - p.beta1), rest2 = set(1 - p.beta2);
  const auto rate = set(p.learning_rate / correction1), root = set(1 / std::sqrt(correction2)),
             epsilon = set(p.epsilon);
  const auto shrink = set(1 - p.learning_rate * p.weight_decay), clip = set(p.gradient_scale);
  const auto renew = set(1 - p.average_decay);
  float *weight = p.weight.as<float>(), *gradient = p.gradient.as<float>();
  float *moment1 = p.moment1.as<float>(), *moment2 = p.moment2.as<float>();
  float* average = p.average ? p.average.as<float>() : nullptr;
  over_vectors(end - begin, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
    const int64_t i = begin + j;
    const auto g = hn::Mul(load(gradient + i), clip);
    const auto m = hn::MulAdd(beta1, load(moment1 + i), hn::Mul(rest1, g));
    const auto v = hn::MulAdd(beta2, load(moment2 + i), hn::Mul(rest2, hn::Mul(g, g)));
    const auto step = hn::Div(hn::Mul(rate, m), hn::MulAdd(hn::Sqrt(v), root, epsilon));
    const auto w = hn::Sub(hn::Mul(load(weight + i), shrink), step);
    store(m, moment1 + i);
    store(v, moment2 + i);
    store(w, weight + i);
    if (average) {
      const auto a = load(average + i);
      store(hn::MulAdd(renew, hn::Sub(w, a), a), average + i);
    }
  });
}

void sgd_range(const kernel::Sgd& p, int64_t begin, int64_t end) {
  const Floats d;
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  const auto rate = set(p.learning_rate), momentum = set(p.momentum), decay = set(p.weight_decay);
  const auto clip = set(p.gradient_scale), renew = set(1 - p.average_decay);
  float *weight = p.weight.as<float>(), *gradient = p.gradient.as<float>();
  float* velocity = p.velocity ? p.velocity.as<float>() : nullptr;
  float* average = p.average ? p.average.as<float>() : nullptr;
  over_vectors(end - begin, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
    const int64_t i = begin + j;
    const auto old = load(weight + i);
    const auto g = hn::MulAdd(decay, old, hn::Mul(load(gradient + i), clip));
    auto step = g;
    if (velocity) {
      const auto v = hn::MulAdd(momentum, load(velocity + i), g);
      store(v, velocity + i);
      step = p.nesterov ? hn::MulAdd(momentum, v, g) : v;
    }
    const auto w = hn::NegMulAdd(rate, step, old);
    store(w, weight + i);
    if (average) {
      const auto a = load(average + i);
      store(hn::MulAdd(renew, hn::Sub(w, a), a), average + i);
    }
  });
}

double square_range(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(adam_range);
HWY_EXPORT(sgd_range);
HWY_EXPORT(square_range);

}  // namespace

void CpuBackend::compute(const kernel::Adam& p) {
  split(p.weight.rows * p.weight.cols, 4, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(adam_range)(p, begin, end);
  });
}

void CpuBackend::compute(const kernel::Sgd& p) {
  split(p.weight.rows * p.weight.cols, 3, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(sgd_range)(p, begin, end);
  });
}

void CpuBackend::compute(const kernel::BlockSquares& k) {
  const int64_t size = k.x.rows * k.x.cols;
  split(k.sums.size, k.block, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b)
      k.sums.data[b] = HWY_DYNAMIC_DISPATCH(square_range)(k.x.as<float>() + b * k.block,
                                                          std::min(k.block, size - b * k.block));
  });
}

}  // namespace sixfold
#endif
