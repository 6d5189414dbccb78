#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/batch_norm.cc"
#include <hwy/foreach_target.h>

#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd.h"

// Sums over the rows are chains in fp64, in the order of the rows: a batch has thousands of them, and a sum in
// fp32 would lose digits. Threads share columns, so that the sums do not depend on the number of threads.

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

constexpr int64_t column_block = 64;  // floats; four cache lines

/// sums[c - begin] = sum over the rows r of value(r, c), for at most `column_block` columns [begin, end).
template <class Value>
HWY_INLINE void sum_rows(int64_t rows, int64_t begin, int64_t end, double* sums, const Value& value) {
  std::fill(sums, sums + column_block, 0.0);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = begin; c < end; ++c) sums[c - begin] += value(r, c);
}

/// Computes mean and variance of block `block` of the columns.
void batch_statistics(const kernel::BatchNorm& k, int64_t block) {
  const int64_t begin = block * column_block, end = std::min(k.x.cols, begin + column_block);
  const auto count = static_cast<double>(k.x.rows);
  double mean[column_block], squares[column_block];
  sum_rows(k.x.rows, begin, end, mean, [&](int64_t r, int64_t c) HWY_ATTR { return k.x.row<float>(r)[c]; });
  for (double& sum : mean) sum /= count;
  sum_rows(k.x.rows, begin, end, squares, [&](int64_t r, int64_t c) HWY_ATTR {
    const double from_mean = k.x.row<float>(r)[c] - mean[c - begin];
    return from_mean * from_mean;
  });
  for (int64_t c = begin; c < end; ++c) {
    k.mean.as<float>()[c] = static_cast<float>(mean[c - begin]);
    k.variance.as<float>()[c] = static_cast<float>(squares[c - begin] / count);
  }
}

/// `scale` [d]: weight / sqrt(variance + epsilon).
void batch_norm_rows(const kernel::BatchNorm& k, const float* scale, int64_t begin, int64_t end) {
  const float *mean = k.mean.as<float>(), *bias = k.bias.as<float>();
  for (int64_t r = begin; r < end; ++r) {
    const float* x = k.x.row<float>(r);
    float* out = k.out.row<float>(r);
    over_vectors(k.x.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      store(hn::MulAdd(hn::Sub(load(x + i), load(mean + i)), load(scale + i), load(bias + i)), out + i);
    });
  }
}

/// Adds to the gradients of weight and bias for block `block` of the columns. Multiplies `rstd` by mean(g h),
/// and writes mean(g) to `mean_g`, with g = grad_out and h the normalized x. Both means are over the rows; they
/// are 0 if the mean and the variance were not computed from the batch.
void batch_norm_gradient_columns(const kernel::BatchNormGradient& k, int64_t block, float* rstd,
                                 float* mean_g) {
  const int64_t begin = block * column_block, end = std::min(k.grad_out.cols, begin + column_block);
  const int64_t rows = k.grad_out.rows;
  const float* mean = k.mean.as<float>();
  double sum_g[column_block], products[column_block];
  sum_rows(rows, begin, end, sum_g, [&](int64_t r, int64_t c) HWY_ATTR { return k.grad_out.row<float>(r)[c]; });
  sum_rows(rows, begin, end, products, [&](int64_t r, int64_t c) HWY_ATTR {
    const double from_mean = k.x.row<float>(r)[c] - mean[c];
    return k.grad_out.row<float>(r)[c] * from_mean;
  });
  const double share = k.use_batch_statistics && rows > 0 ? 1 / static_cast<double>(rows) : 0;
  for (int64_t c = begin; c < end; ++c) {
    const double gh = products[c - begin] * rstd[c];
    if (k.grad_weight) k.grad_weight.as<float>()[c] += static_cast<float>(gh);
    if (k.grad_bias) k.grad_bias.as<float>()[c] += static_cast<float>(sum_g[c - begin]);
    mean_g[c] = static_cast<float>(sum_g[c - begin] * share);
    rstd[c] = static_cast<float>(rstd[c] * gh * share);
  }
}

/// grad_x = scale * (g - mean_g - (x - mean) * slope), where `slope` is rstd * mean(g h).
void batch_norm_gradient_rows(const kernel::BatchNormGradient& k, const float* scale, const float* slope,
                              const float* mean_g, int64_t begin, int64_t end) {
  const float* mean = k.mean.as<float>();
  for (int64_t r = begin; r < end; ++r) {
    const float *g = k.grad_out.row<float>(r), *x = k.x.row<float>(r);
    float* grad_x = k.grad_x.row<float>(r);
    over_vectors(k.grad_out.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      const auto rest = hn::NegMulAdd(hn::Sub(load(x + i), load(mean + i)), load(slope + i),
                                      hn::Sub(load(g + i), load(mean_g + i)));
      const auto before = k.accumulate_x ? load(grad_x + i) : hn::Zero(Floats());
      store(hn::MulAdd(load(scale + i), rest, before), grad_x + i);
    });
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(batch_statistics);
HWY_EXPORT(batch_norm_rows);
HWY_EXPORT(batch_norm_gradient_columns);
HWY_EXPORT(batch_norm_gradient_rows);

constexpr int64_t block_columns = 64;  // the same as `column_block`
int64_t blocks(int64_t cols) { return (cols + block_columns - 1) / block_columns; }

float reciprocal_deviation(View variance, int64_t feature, double epsilon) {
  return static_cast<float>(1 / std::sqrt(variance.as<float>()[feature] + epsilon));
}

}  // namespace

void CpuBackend::compute(const kernel::BatchNorm& k) {
  const int64_t d = k.x.cols;
  if (k.use_batch_statistics)
    split(blocks(d), 2 * k.x.rows * block_columns, [&](int64_t begin, int64_t end, int) {
      for (int64_t b = begin; b < end; ++b) HWY_DYNAMIC_DISPATCH(batch_statistics)(k, b);
    });
  float* scale = shared_scratch_.floats(d);
  for (int64_t c = 0; c < d; ++c)
    scale[c] = k.weight.as<float>()[c] * reciprocal_deviation(k.variance, c, k.epsilon);
  split(k.x.rows, d, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(batch_norm_rows)(k, scale, begin, end);
  });
}

void CpuBackend::compute(const kernel::BatchNormGradient& k) {
  const int64_t d = k.grad_out.cols;
  float *scale = shared_scratch_.floats(3 * d), *slope = scale + d, *mean_g = slope + d;
  for (int64_t c = 0; c < d; ++c) {
    slope[c] = reciprocal_deviation(k.variance, c, k.epsilon);  // becomes the slope when the columns are summed
    scale[c] = k.weight.as<float>()[c] * slope[c];
  }
  split(blocks(d), 2 * k.grad_out.rows * block_columns, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b)
      HWY_DYNAMIC_DISPATCH(batch_norm_gradient_columns)(k, b, slope, mean_g);
  });
  if (!k.grad_x) return;
  split(k.grad_out.rows, 2 * d, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(batch_norm_gradient_rows)(k, scale, slope, mean_g, begin, end);
  });
}

}  // namespace sixfold
#endif
