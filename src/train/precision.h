#pragma once
#include <chrono>
#include <functional>
#include <vector>

#include "base/threads.h"
#include "train/config.h"

namespace sixfold {

/// Operations per second of large matrix products. They are measured because processor flags do not predict
/// them: bf16 was measured at five times the rate of fp32 with AMX.
struct ProductRates {
  double fp32 = 0;
  double bf16 = 0;  ///< 0: the processor has no bf16 products
};

/// The best rates of several repetitions. They are steady if at least half of the repetitions reach four fifths
/// of the best, and if all threads had a processor to themselves nearly all the time: this shows that other
/// programs did not disturb the measurement.
struct MeasuredRates {
  ProductRates best;
  bool steady = false;
};

/// Measures the rates on `threads` threads, in some tens of milliseconds. The two types alternate, so that a
/// disturbance affects both.
MeasuredRates measure_product_rates(int threads);

/// Whether at least half of the rates reach four fifths of the best.
bool is_steady(std::vector<double> rates);

/// Whether `threads` threads that never wait had nine tenths of the processors' time in `seconds`, by the
/// seconds that they computed together. Another program that is always busy takes its part evenly, so that
/// rates don't show it.
bool had_processors(int threads, double computed, double seconds);

/// The measurement and the clock that `product_rates` uses; tests replace them.
struct RateSource {
  std::function<MeasuredRates()> measure = [] { return measure_product_rates(available_threads()); };
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
};

/// Returns the rates on all available threads. They are cached for each processor in sixfold/product-rates.json
/// in the user's cache folder ($XDG_CACHE_HOME, or ~/.cache), and measured again after 30 days or with another
/// version of the program. If a measurement is not steady, it is repeated, up to three measurements. If none is
/// steady, this run uses the best rates, and nothing is cached. If the cache folder can't be read or written,
/// each run measures again. The precision that a run uses is stored in its checkpoints.
ProductRates product_rates(const RateSource& source = {});

/// Returns the precision asked for. For `automatic` returns bf16 if its rate is at least one and a half times
/// that of fp32, since rounding takes time too; otherwise fp32.
Precision choose_precision(Precision asked, const ProductRates& rates);

}  // namespace sixfold
