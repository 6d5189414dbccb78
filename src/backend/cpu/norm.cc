#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/norm.cc"
#include <hwy/foreach_target.h>

#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Writes the sum x + dropout(y) of row r to `sum` and returns the total of its elements.
HWY_INLINE float residual_row(const kernel::ResidualNorm& p, int64_t r, uint16_t* bits, float* sum) {
  const int64_t n = p.x.cols;
  const float* x = p.x.row<float>(r);
  const float* y = p.y ? p.y.row<float>(r) : nullptr;
  const float keep = static_cast<float>(p.dropout.keep_scale());
  if (p.dropout) dropout_bits(p.dropout, r, p.dropout.module, n, bits);
  auto total = hn::Zero(Floats());
  over_vectors(n, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    auto v = load(x + i);
    if (y && p.dropout)
      v = hn::MulAdd(load(y + i), keep_factor(bits + i, p.dropout.threshold, keep), v);
    else if (y)
      v = hn::Add(load(y + i), v);
    total = hn::Add(total, v);
    store(v, sum + i);
  });
  return sum_lanes(total);
}

void norm_rows(const kernel::ResidualNorm& p, int64_t begin, int64_t end, uint16_t* bits, float* spare) {
  const Floats d;
  const int64_t n = p.x.cols;
  const float *weight = p.weight.as<float>(), *bias = p.bias.as<float>();
  for (int64_t r = begin; r < end; ++r) {
    float* sum = p.sum ? p.sum.row<float>(r) : spare;
    const float total = residual_row(p, r, bits, sum), mean = p.centered ? total / static_cast<float>(n) : 0;
    const auto means = hn::Set(d, mean);
    auto squares = hn::Zero(d);
    const int64_t whole = n / lanes * lanes;
    for (int64_t i = 0; i < whole; i += lanes) {
      const auto v = hn::Sub(hn::LoadU(d, sum + i), means);
      squares = hn::MulAdd(v, v, squares);
    }
    float variance = sum_lanes(squares);
    for (int64_t i = whole; i < n; ++i) variance += (sum[i] - mean) * (sum[i] - mean);
    const float inverse_deviation =
        1.0f / std::sqrt(variance / static_cast<float>(n) + static_cast<float>(p.epsilon));
    const auto factor = hn::Set(d, inverse_deviation);
    float* out = p.out.row<float>(r);
    over_vectors(n, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      const auto v = hn::Mul(hn::Sub(load(sum + i), means), factor);
      store(hn::MulAdd(v, load(weight + i), bias ? load(bias + i) : hn::Zero(d)), out + i);
    });
    if (p.statistics) {
      p.statistics.row<float>(r)[0] = mean;
      p.statistics.row<float>(r)[1] = inverse_deviation;
    }
  }
}

/// With g = grad_out * weight and h the normalized sum, grad = (g - mean(g) - h * mean(g h)) / deviation.
/// RMSNorm has no mean(g).
void norm_gradient_rows(const kernel::ResidualNormGradient& p, int64_t begin, int64_t end, uint16_t* bits) {
  const Floats d;
  const int64_t n = p.grad_out.cols;
  const float* weight = p.weight.as<float>();
  const float keep = static_cast<float>(p.dropout.keep_scale());
  for (int64_t r = begin; r < end; ++r) {
    const float *grad_out = p.grad_out.row<float>(r), *sum = p.sum.row<float>(r);
    const auto means = hn::Set(d, p.statistics.row<float>(r)[0]),
               inverse_deviation = hn::Set(d, p.statistics.row<float>(r)[1]);
    auto sum_g = hn::Zero(d), sum_gh = hn::Zero(d);
    over_vectors(n, [&](int64_t i, const auto& load, const auto&) HWY_ATTR {
      const auto g = hn::Mul(load(grad_out + i), load(weight + i));
      sum_g = hn::Add(sum_g, g);
      sum_gh = hn::MulAdd(g, hn::Mul(hn::Sub(load(sum + i), means), inverse_deviation), sum_gh);
    });
    const auto mean_g = hn::Set(d, p.centered ? sum_lanes(sum_g) / static_cast<float>(n) : 0.0f);
    const auto mean_gh = hn::Set(d, sum_lanes(sum_gh) / static_cast<float>(n));
    if (p.dropout && p.grad_y) dropout_bits(p.dropout, r, p.dropout.module, n, bits);
    float *grad_x = p.grad_x ? p.grad_x.row<float>(r) : nullptr,
          *grad_y = p.grad_y ? p.grad_y.row<float>(r) : nullptr;
    over_vectors(n, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      const auto h = hn::Mul(hn::Sub(load(sum + i), means), inverse_deviation);
      const auto g = hn::Mul(load(grad_out + i), load(weight + i));
      const auto grad = hn::Mul(inverse_deviation, hn::NegMulAdd(h, mean_gh, hn::Sub(g, mean_g)));
      if (grad_x) store(p.accumulate_x ? hn::Add(load(grad_x + i), grad) : grad, grad_x + i);
      if (grad_y)
        store(p.dropout ? hn::Mul(grad, keep_factor(bits + i, p.dropout.threshold, keep)) : grad, grad_y + i);
    });
  }
}

/// Computes columns [begin, end) of the gradients of weight and bias. Rows are added in order.
void norm_gradient_columns(const kernel::ResidualNormGradient& p, int64_t begin, int64_t end) {
  const Floats d;
  float *grad_weight = p.grad_weight ? p.grad_weight.as<float>() : nullptr,
        *grad_bias = p.grad_bias ? p.grad_bias.as<float>() : nullptr;
  for (int64_t r = 0; r < p.grad_out.rows; ++r) {
    const float *grad_out = p.grad_out.row<float>(r), *sum = p.sum.row<float>(r);
    const auto means = hn::Set(d, p.statistics.row<float>(r)[0]),
               inverse_deviation = hn::Set(d, p.statistics.row<float>(r)[1]);
    over_vectors(end - begin, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
      const int64_t i = begin + j;
      const auto g = load(grad_out + i);
      const auto h = hn::Mul(hn::Sub(load(sum + i), means), inverse_deviation);
      if (grad_weight) store(hn::MulAdd(g, h, load(grad_weight + i)), grad_weight + i);
      if (grad_bias) store(hn::Add(g, load(grad_bias + i)), grad_bias + i);
    });
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_gradient_rows);
HWY_EXPORT(norm_gradient_columns);

}  // namespace

void CpuBackend::compute(const kernel::ResidualNorm& p) {
  split(p.x.rows, p.x.cols * 4, [&](int64_t begin, int64_t end, int thread) {
    uint16_t* bits = bits_buffer(thread, p.x.cols);
    HWY_DYNAMIC_DISPATCH(norm_rows)(p, begin, end, bits, row_buffer(thread, p.x.cols));
  });
}

void CpuBackend::compute(const kernel::ResidualNormGradient& p) {
  split(p.grad_out.rows, p.grad_out.cols * 4, [&](int64_t begin, int64_t end, int thread) {
    HWY_DYNAMIC_DISPATCH(norm_gradient_rows)(p, begin, end, bits_buffer(thread, p.grad_out.cols));
  });
  if (!p.grad_weight && !p.grad_bias) return;
  constexpr int64_t column_block = 64;
  const int64_t cols = p.grad_out.cols;
  split((cols + column_block - 1) / column_block, p.grad_out.rows * column_block,
        [&](int64_t begin, int64_t end, int) {
          HWY_DYNAMIC_DISPATCH(norm_gradient_columns)
          (p, begin * column_block, std::min(cols, end * column_block));
        });
}

}  // namespace sixfold
#endif
