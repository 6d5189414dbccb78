#pragma once
#include <chrono>
#include <functional>
#include <vector>

#include "base/threads.h"
#include "train/config.h"

namespace sixfold {

/// Operations a second of large matrix products. Flags of a processor don't tell them: with AMX bf16 was
/// measured at five times fp32, without it AVX512-BF16 at half.
struct ProductRates {
  double fp32 = 0;
  double bf16 = 0;  ///< 0: the processor has none
};

/// The best of some repeats of each, and whether the machine left them alone: half of the repeats then come to
/// four fifths of the best.
struct MeasuredRates {
  ProductRates best;
  bool steady = false;
};

/// Takes some ten milliseconds on so many threads. Both kinds take turns, so that what disturbs one for a while
/// disturbs the other.
MeasuredRates measure_product_rates(int threads);

/// True for rates of which at least half come to four fifths of the best.
bool is_steady(std::vector<double> rates);

/// How `product_rates` measures, and its clock.
struct RateSource {
  std::function<MeasuredRates()> measure = [] { return measure_product_rates(available_threads()); };
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
};

/// The rates on all threads there are. They are kept for each processor in sixfold/product-rates.json of the
/// user's cache folder ($XDG_CACHE_HOME, or ~/.cache), and measured again after 30 days and by another version
/// of the program. A busy machine measures up to three times, and keeps only what was steady: otherwise this
/// run takes the best it saw, and the next one measures again. Where the folder can't be read or written, each
/// run does. What a run chose stays in its checkpoints.
ProductRates product_rates(const RateSource& source = {});

/// What was asked for, or the faster one where it is left to us: bf16 must be faster by half, since rounding
/// takes time too.
Precision choose_precision(Precision asked, const ProductRates& rates);

}  // namespace sixfold
