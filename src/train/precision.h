#pragma once
#include "train/config.h"

namespace sixfold {

/// Operations a second of large matrix products. Flags of a processor don't tell them: with AMX bf16 was
/// measured at five times fp32, without it AVX512-BF16 at half.
struct ProductRates {
  double fp32 = 0;
  double bf16 = 0;  ///< 0: the processor has none
};

/// Measures them on so many threads, in some milliseconds.
ProductRates measure_product_rates(int threads);

/// The same on all threads there are, kept for each processor in product-rates.json of the user's cache folder
/// ($XDG_CACHE_HOME or
/// ~/.cache, in it sixfold/); where that can't be read or written they are measured each time.
ProductRates product_rates();

/// What was asked for, or the faster one where it is left to us: bf16 must be faster by half, since rounding
/// takes time too.
Precision choose_precision(Precision asked, const ProductRates& rates);

}  // namespace sixfold
