#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/adafactor.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd.h"

#ifndef SIXFOLD_CPU_ADAFACTOR
#define SIXFOLD_CPU_ADAFACTOR
namespace sixfold {

/// The parameters of all passes over a weight. The second moment of an element is that of its row / `mean_row`
/// times that of its column. If there is a moment for each element (`squares`), the weight is treated as one
/// row.
struct AdafactorPass {
  const kernel::Adafactor& kernel;
  int64_t rows, cols;
  const float* column_factors = nullptr;  ///< 1 / sqrt(columns); null: `squares` are given
  double mean_row = 1;
  double rate = 0;  ///< learning rate of this weight, also for weight decay
  /// `rate`, divided by the update's root mean square / clip_threshold if that is above 1.
  double clipped_rate = 0;
};

}  // namespace sixfold
#endif

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Updates the moments of rows [begin, end), and stores the sums of squares of their columns.
void adafactor_rows(const AdafactorPass& pass, int64_t begin, int64_t end, float* column_sums) {
  const Floats d;
  const kernel::Adafactor& p = pass.kernel;
  const auto gradient_scale = hn::Set(d, static_cast<float>(p.gradient_scale));
  std::fill_n(column_sums, pass.cols, 0.0f);
  for (int64_t r = begin; r < end; ++r) {
    const float* gradient = p.gradient.as<float>() + r * pass.cols;
    auto sum = hn::Zero(d);
    over_vectors(pass.cols, [&](int64_t c, const auto& load, const auto& store) HWY_ATTR {
      const auto g = hn::Mul(load(gradient + c), gradient_scale);
      sum = hn::MulAdd(g, g, sum);
      store(hn::MulAdd(g, g, load(column_sums + c)), column_sums + c);
    });
    float& moment = p.rows.as<float>()[r];
    const double mean = static_cast<double>(sum_lanes(sum)) / static_cast<double>(pass.cols) + p.epsilon;
    moment = static_cast<float>(p.beta2 * moment + (1 - p.beta2) * mean);
  }
}

/// Updates the moments of a weight that has one for each element.
void adafactor_squares(const AdafactorPass& pass) {
  const Floats d;
  const kernel::Adafactor& p = pass.kernel;
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  const auto gradient_scale = set(p.gradient_scale), epsilon = set(p.epsilon);
  const auto beta2 = set(p.beta2), rest2 = set(1 - p.beta2);
  float *gradient = p.gradient.as<float>(), *squares = p.squares.as<float>();
  over_vectors(pass.cols, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    const auto g = hn::Mul(load(gradient + i), gradient_scale);
    const auto s = hn::MulAdd(g, g, epsilon);
    store(hn::MulAdd(beta2, load(squares + i), hn::Mul(rest2, s)), squares + i);
  });
}

/// Calls body(i, load, store, u) for vectors of elements of a row, which begin at element i of the weight. u is
/// their update before it is clipped.
template <class Body>
HWY_INLINE void over_updates(const AdafactorPass& pass, int64_t row, const Body& body) {
  const Floats d;
  const kernel::Adafactor& p = pass.kernel;
  const auto gradient_scale = hn::Set(d, static_cast<float>(p.gradient_scale));
  const auto smallest =
      hn::Set(d, std::numeric_limits<float>::min());  // beyond the end of a row there are zeros
  const float *gradient = p.gradient.as<float>(), *columns = pass.column_factors;
  const float* squares = columns ? nullptr : p.squares.as<float>();
  const auto row_factor = hn::Set(
      d, columns
             ? static_cast<float>(1 / std::sqrt(static_cast<double>(p.rows.as<float>()[row]) / pass.mean_row))
             : 1.0f);
  over_vectors(pass.cols, [&](int64_t c, const auto& load, const auto& store) HWY_ATTR {
    const int64_t i = row * pass.cols + c;
    const auto g = hn::Mul(load(gradient + i), gradient_scale);
    body(i, load, store,
         columns ? hn::Mul(g, hn::Mul(row_factor, load(columns + c)))
                 : hn::Div(g, hn::Sqrt(hn::Max(load(squares + i), smallest))));
  });
}

/// The sum of the squares of the updates of rows [begin, end).
double adafactor_update_squares(const AdafactorPass& pass, int64_t begin, int64_t end) {
  double all = 0;
  for (int64_t r = begin; r < end; ++r) {
    auto sum = hn::Zero(Floats());
    over_updates(pass, r, [&](int64_t, const auto&, const auto&, const auto& u) HWY_ATTR {
      sum = hn::MulAdd(u, u, sum);
    });
    all += static_cast<double>(sum_lanes(sum));
  }
  return all;
}

/// The sum of the squares of the weights of rows [begin, end).
double adafactor_weight_squares(const AdafactorPass& pass, int64_t begin, int64_t end) {
  double all = 0;
  for (int64_t r = begin; r < end; ++r) {
    const float* weight = pass.kernel.weight.as<float>() + r * pass.cols;
    auto sum = hn::Zero(Floats());
    over_vectors(pass.cols, [&](int64_t c, const auto& load, const auto&) HWY_ATTR {
      const auto w = load(weight + c);
      sum = hn::MulAdd(w, w, sum);
    });
    all += static_cast<double>(sum_lanes(sum));
  }
  return all;
}

void adafactor_step(const AdafactorPass& pass, int64_t begin, int64_t end) {
  const Floats d;
  const kernel::Adafactor& p = pass.kernel;
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  const auto clipped_rate = set(pass.clipped_rate), shrink = set(1 - pass.rate * p.weight_decay);
  const auto beta1 = set(p.beta1), rest1 = set(1 - p.beta1), average_rest = set(1 - p.average_decay);
  float* weight = p.weight.as<float>();
  float* moment1 = p.moment1 ? p.moment1.as<float>() : nullptr;
  float* average = p.average ? p.average.as<float>() : nullptr;
  for (int64_t r = begin; r < end; ++r)
    over_updates(pass, r, [&](int64_t i, const auto& load, const auto& store, const auto& u) HWY_ATTR {
      auto step = hn::Mul(u, clipped_rate);
      if (moment1) {
        step = hn::MulAdd(beta1, load(moment1 + i), hn::Mul(rest1, step));
        store(step, moment1 + i);
      }
      const auto w = hn::Sub(hn::Mul(load(weight + i), shrink), step);
      store(w, weight + i);
      if (average) {
        const auto a = load(average + i);
        store(hn::MulAdd(average_rest, hn::Sub(w, a), a), average + i);
      }
    });
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(adafactor_rows);
HWY_EXPORT(adafactor_squares);
HWY_EXPORT(adafactor_update_squares);
HWY_EXPORT(adafactor_weight_squares);
HWY_EXPORT(adafactor_step);

}  // namespace

/// Sums are added by blocks of rows, whose number depends on the weight alone.
void CpuBackend::compute(const kernel::Adafactor& p) {
  constexpr int64_t max_blocks = 64;
  const int64_t size = p.weight.rows * p.weight.cols;
  AdafactorPass pass{
      .kernel = p, .rows = p.squares ? 1 : p.weight.rows, .cols = p.squares ? size : p.weight.cols};
  const int64_t blocks = std::min(pass.rows, max_blocks);
  /// Calls body(block, begin, end) with the rows of each block.
  const auto over_blocks = [&](const auto& body) {
    split(blocks, 4 * size / blocks, [&](int64_t first, int64_t last, int) {
      for (int64_t b = first; b < last; ++b) body(b, pass.rows * b / blocks, pass.rows * (b + 1) / blocks);
    });
  };
  const auto root_mean_square = [&](const auto& squares) {
    std::array<double, max_blocks> sums{};
    over_blocks(
        [&](int64_t b, int64_t begin, int64_t end) { sums[static_cast<size_t>(b)] = squares(begin, end); });
    return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(size));
  };
  if (p.squares) {
    HWY_DYNAMIC_DISPATCH(adafactor_squares)(pass);
  } else {
    float* column_factors = shared_scratch_.floats((1 + blocks) * pass.cols);
    float* column_sums = column_factors + pass.cols;
    over_blocks([&](int64_t b, int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(adafactor_rows)(pass, begin, end, column_sums + b * pass.cols);
    });
    for (int64_t c = 0; c < pass.cols; ++c) {
      double sum = 0;
      for (int64_t b = 0; b < blocks; ++b) sum += static_cast<double>(column_sums[b * pass.cols + c]);
      float& moment = p.columns.as<float>()[c];
      moment = static_cast<float>(p.beta2 * moment +
                                  (1 - p.beta2) * (sum / static_cast<double>(pass.rows) + p.epsilon));
      column_factors[c] = 1 / std::sqrt(moment);
    }
    const float* rows = p.rows.as<float>();
    pass.column_factors = column_factors;
    pass.mean_row = std::accumulate(rows, rows + pass.rows, 0.0) / static_cast<double>(pass.rows);
  }
  pass.rate = p.learning_rate;
  if (p.scale_parameter)
    pass.rate *= std::max(p.smallest_scale, root_mean_square([&](int64_t begin, int64_t end) {
                            return HWY_DYNAMIC_DISPATCH(adafactor_weight_squares)(pass, begin, end);
                          }));
  const double update_rms = root_mean_square([&](int64_t begin, int64_t end) {
    return HWY_DYNAMIC_DISPATCH(adafactor_update_squares)(pass, begin, end);
  });
  pass.clipped_rate = pass.rate / std::max(1.0, update_rms / p.clip_threshold);
  over_blocks([&](int64_t, int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adafactor_step)(pass, begin, end);
  });
}

}  // namespace sixfold
#endif
