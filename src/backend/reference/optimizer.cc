#include <algorithm>
#include <cmath>
#include <vector>

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

void compute(const kernel::Sgd& s) {
  with_type(s.weight.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < s.weight.rows * s.weight.cols; ++i) {
      T& w = s.weight.as<T>()[i];
      const T g = s.gradient.as<T>()[i] * static_cast<T>(s.gradient_scale) + static_cast<T>(s.weight_decay) * w;
      T step = g;
      if (s.velocity) {
        T& v = s.velocity.as<T>()[i];
        v = static_cast<T>(s.momentum) * v + g;
        step = s.nesterov ? g + static_cast<T>(s.momentum) * v : v;
      }
      w -= static_cast<T>(s.learning_rate) * step;
      if (s.average) s.average.as<T>()[i] += static_cast<T>(1 - s.average_decay) * (w - s.average.as<T>()[i]);
    }
  });
}

namespace {

/// Updates the second moments, and returns the elements of u before it is clipped.
template <class T>
std::vector<double> adafactor_updates(const kernel::Adafactor& a) {
  const int64_t rows = a.weight.rows, cols = a.weight.cols;
  std::vector<double> update(static_cast<size_t>(rows * cols));
  const auto gradient = [&](int64_t i) { return a.gradient.as<T>()[i] * a.gradient_scale; };
  const auto renew = [&](View moments, int64_t i, double square) {
    T& moment = moments.as<T>()[i];
    moment = static_cast<T>(a.beta2 * moment + (1 - a.beta2) * square);
  };
  /// The sum of s over elements first, first + step, ...
  const auto sum_of = [&](int64_t first, int64_t count, int64_t step) {
    double sum = 0;
    for (int64_t i = first; count-- > 0; i += step) sum += gradient(i) * gradient(i) + a.epsilon;
    return sum;
  };
  if (a.squares) {
    for (int64_t i = 0; i < rows * cols; ++i) {
      renew(a.squares, i, sum_of(i, 1, 1));
      update[static_cast<size_t>(i)] = gradient(i) / std::sqrt(a.squares.as<T>()[i]);
    }
    return update;
  }
  for (int64_t r = 0; r < rows; ++r) renew(a.rows, r, sum_of(r * cols, cols, 1) / static_cast<double>(cols));
  for (int64_t c = 0; c < cols; ++c) renew(a.columns, c, sum_of(c, rows, cols) / static_cast<double>(rows));
  double mean_row = 0;
  for (int64_t r = 0; r < rows; ++r) mean_row += a.rows.as<T>()[r] / static_cast<double>(rows);
  for (int64_t i = 0; i < rows * cols; ++i)
    update[static_cast<size_t>(i)] =
        gradient(i) / std::sqrt(a.rows.as<T>()[i / cols] / mean_row) / std::sqrt(a.columns.as<T>()[i % cols]);
  return update;
}

template <class Elements>
double root_mean_square(const Elements* x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return std::sqrt(sum / static_cast<double>(count));
}

}  // namespace

void compute(const kernel::Adafactor& a) {
  with_type(a.weight.dtype, [&]<class T>(T) {
    const std::vector<double> update = adafactor_updates<T>(a);
    double rate = a.learning_rate;
    if (a.scale_parameter)
      rate *= std::max(a.smallest_scale, root_mean_square(a.weight.as<T>(), update.size()));
    const double clip = std::max(1.0, root_mean_square(update.data(), update.size()) / a.clip_threshold);
    for (size_t i = 0; i < update.size(); ++i) {
      T& w = a.weight.as<T>()[i];
      double step = rate * update[i] / clip;
      if (a.moment1) {
        T& m = a.moment1.as<T>()[i];
        m = static_cast<T>(a.beta1 * m + (1 - a.beta1) * step);
        step = m;
      }
      w = static_cast<T>(w - rate * a.weight_decay * w - step);
      if (a.average) a.average.as<T>()[i] += static_cast<T>(1 - a.average_decay) * (w - a.average.as<T>()[i]);
    }
  });
}

}  // namespace sixfold::reference
