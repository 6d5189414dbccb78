#include <cmath>
#include <vector>

#include "backend/dropout.h"
#include "backend/reference/kernels.h"

namespace sixfold::reference {
namespace {

template <class T>
struct Statistics {
  T mean, rstd;
};

template <class T>
Statistics<T> statistics_of(const std::vector<T>& row, double epsilon, bool centered) {
  const auto d = static_cast<double>(row.size());
  double mean = 0, variance = 0;
  if (centered)
    for (T x : row) mean += x / d;
  for (T x : row) variance += (x - mean) * (x - mean) / d;
  return {static_cast<T>(mean), static_cast<T>(1 / std::sqrt(variance + epsilon))};
}

/// With n_c = (sum_c - mean) * rstd and g_c = grad_out_c * weight_c, the gradient of sum_c is rstd * (g_c -
/// mean(g) - n_c * mean(g * n)). The norm removes changes of the mean and of the deviation, so their parts are
/// subtracted. RMSNorm keeps the mean.
template <class T>
std::vector<T> gradient_of_sum(const T* grad_out, const T* weight, const std::vector<T>& normalized, T rstd,
                               bool centered) {
  const auto d = static_cast<double>(normalized.size());
  std::vector<T> gradient(normalized.size());
  double mean = 0, slope = 0;
  for (size_t c = 0; c < gradient.size(); ++c) {
    gradient[c] = grad_out[c] * weight[c];
    if (centered) mean += gradient[c] / d;
    slope += static_cast<double>(gradient[c]) * normalized[c] / d;
  }
  for (size_t c = 0; c < gradient.size(); ++c)
    gradient[c] = static_cast<T>(rstd * (gradient[c] - mean - normalized[c] * slope));
  return gradient;
}

}  // namespace

void compute(const kernel::ResidualNorm& n) {
  with_type(n.out.dtype, [&]<class T>(T) {
    std::vector<T> sum(n.x.cols);
    for (int64_t r = 0; r < n.x.rows; ++r) {
      for (int64_t c = 0; c < n.x.cols; ++c)
        sum[c] = n.x.row<T>(r)[c] + (n.y ? apply_dropout(n.dropout, r, c, n.y.row<T>(r)[c]) : T{0});
      const auto [mean, rstd] = statistics_of(sum, n.epsilon, n.centered);
      if (n.statistics) {
        n.statistics.row<T>(r)[0] = mean;
        n.statistics.row<T>(r)[1] = rstd;
      }
      for (int64_t c = 0; c < n.x.cols; ++c) {
        if (n.sum) n.sum.row<T>(r)[c] = sum[c];
        n.out.row<T>(r)[c] = (sum[c] - mean) * rstd * n.weight.as<T>()[c] + (n.bias ? n.bias.as<T>()[c] : T{0});
      }
    }
  });
}

void compute(const kernel::ResidualNormGradient& n) {
  with_type(n.grad_out.dtype, [&]<class T>(T) {
    const int64_t d = n.grad_out.cols;
    std::vector<T> normalized(d);
    for (int64_t r = 0; r < n.grad_out.rows; ++r) {
      const T* grad_out = n.grad_out.row<T>(r);
      const T mean = n.statistics.row<T>(r)[0], rstd = n.statistics.row<T>(r)[1];
      for (int64_t c = 0; c < d; ++c) normalized[c] = (n.sum.row<T>(r)[c] - mean) * rstd;
      const auto grad_sum = gradient_of_sum(grad_out, n.weight.as<T>(), normalized, rstd, n.centered);
      for (int64_t c = 0; c < d; ++c) {
        if (n.grad_weight) n.grad_weight.as<T>()[c] += grad_out[c] * normalized[c];
        if (n.grad_bias) n.grad_bias.as<T>()[c] += grad_out[c];
        if (n.grad_y) n.grad_y.row<T>(r)[c] = apply_dropout(n.dropout, r, c, grad_sum[c]);
        if (n.grad_x) n.grad_x.row<T>(r)[c] = grad_sum[c] + (n.accumulate_x ? n.grad_x.row<T>(r)[c] : T{0});
      }
    }
  });
}

}  // namespace sixfold::reference
