#include <cmath>

#include "backend/reference/kernels.h"

namespace sixfold::reference {

void compute(const kernel::Adam& a) {
  const double correction1 = 1 - std::pow(a.beta1, a.step);
  const double correction2 = 1 - std::pow(a.beta2, a.step);
  with_type(a.weight.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < a.weight.rows; ++r)
      for (int64_t c = 0; c < a.weight.cols; ++c) {
        T &w = a.weight.row<T>(r)[c], &m = a.moment1.row<T>(r)[c], &v = a.moment2.row<T>(r)[c];
        const T g = a.gradient.row<T>(r)[c] * static_cast<T>(a.gradient_scale);
        m = static_cast<T>(a.beta1) * m + static_cast<T>(1 - a.beta1) * g;
        v = static_cast<T>(a.beta2) * v + static_cast<T>(1 - a.beta2) * g * g;
        const T mean = m / static_cast<T>(correction1);
        const T deviation = std::sqrt(v / static_cast<T>(correction2));
        const T step = mean / (deviation + static_cast<T>(a.epsilon)) + static_cast<T>(a.weight_decay) * w;
        w -= static_cast<T>(a.learning_rate) * step;
        if (a.average)
          a.average.row<T>(r)[c] += static_cast<T>(1 - a.average_decay) * (w - a.average.row<T>(r)[c]);
      }
  });
}

}  // namespace sixfold::reference
