#include <cmath>

#include "backend/reference/kernels.h"

namespace sixfold::reference {
namespace {

/// The sum over all rows of value(r), in fp64.
template <class Value>
double sum_of_rows(int64_t rows, const Value& value) {
  double sum = 0;
  for (int64_t r = 0; r < rows; ++r) sum += value(r);
  return sum;
}

}  // namespace

void compute(const kernel::BatchNorm& n) {
  with_type(n.out.dtype, [&]<class T>(T) {
    const int64_t rows = n.x.rows;
    const auto count = static_cast<double>(rows);
    for (int64_t c = 0; c < n.x.cols; ++c) {
      T &mean = n.mean.as<T>()[c], &variance = n.variance.as<T>()[c];
      if (n.use_batch_statistics) {
        const double m = sum_of_rows(rows, [&](int64_t r) { return n.x.row<T>(r)[c]; }) / count;
        mean = static_cast<T>(m);
        variance = static_cast<T>(sum_of_rows(rows,
                                              [&](int64_t r) {
                                                const double from_mean = n.x.row<T>(r)[c] - m;
                                                return from_mean * from_mean;
                                              }) /
                                  count);
      }
      const T rstd = static_cast<T>(1 / std::sqrt(variance + n.epsilon));
      for (int64_t r = 0; r < rows; ++r)
        n.out.row<T>(r)[c] = (n.x.row<T>(r)[c] - mean) * rstd * n.weight.as<T>()[c] + n.bias.as<T>()[c];
    }
  });
}

/// With h_r = (x_r - mean) * rstd, the gradient of x_r is weight * rstd * (grad_out_r - mean of grad_out - h_r
/// * mean of grad_out * h), with the means over the rows: the norm removes changes of the mean and of the
/// deviation. A mean and a variance that were not computed from the batch are constants. Then the gradient is
/// only weight * rstd * grad_out_r.
void compute(const kernel::BatchNormGradient& n) {
  with_type(n.grad_out.dtype, [&]<class T>(T) {
    const int64_t rows = n.grad_out.rows;
    for (int64_t c = 0; c < n.grad_out.cols; ++c) {
      const T mean = n.mean.as<T>()[c], scale = n.weight.as<T>()[c],
              rstd = static_cast<T>(1 / std::sqrt(n.variance.as<T>()[c] + n.epsilon));
      const auto g = [&](int64_t r) { return n.grad_out.row<T>(r)[c]; };
      const auto h = [&](int64_t r) { return (n.x.row<T>(r)[c] - mean) * rstd; };
      const double sum_g = sum_of_rows(rows, g),
                   sum_gh = sum_of_rows(rows, [&](int64_t r) { return static_cast<double>(g(r)) * h(r); });
      if (n.grad_weight) n.grad_weight.as<T>()[c] += static_cast<T>(sum_gh);
      if (n.grad_bias) n.grad_bias.as<T>()[c] += static_cast<T>(sum_g);
      if (!n.grad_x) continue;
      const double count =
          n.use_batch_statistics ? static_cast<double>(rows) : std::numeric_limits<double>::infinity();
      const T mean_g = static_cast<T>(sum_g / count), mean_gh = static_cast<T>(sum_gh / count);
      for (int64_t r = 0; r < rows; ++r) {
        T& grad_x = n.grad_x.row<T>(r)[c];
        grad_x = scale * rstd * (g(r) - mean_g - h(r) * mean_gh) + (n.accumulate_x ? grad_x : T{0});
      }
    }
  });
}

}  // namespace sixfold::reference
