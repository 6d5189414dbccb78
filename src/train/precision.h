#pragma once
#include <string>

#include "train/config.h"

namespace sixfold {

/// A processor, as /proc/cpuinfo and the kernels know it.
struct Processor {
  std::string vendor;  ///< "GenuineIntel"
  int family = 0, model = 0;
  std::string bf16;  ///< `bf16_instructions`
};

Processor this_processor();

/// The smallest width (d_model) of models that train in bf16 on this processor with train.precision auto; 0: no
/// model does. It is from a table of processors that were measured (docs/backends.md); all others train in
/// fp32. Nothing is measured when a run begins, so that the same command always gives the same model.
int min_bf16_width(const Processor& processor);

/// The precision in which a model of this width trains on this processor: `requested`, unless that is
/// `automatic`.
Precision chosen_precision(Precision requested, int d_model);

/// Operations per second of large matrix products.
struct ProductRates {
  double fp32 = 0;
  double bf16 = 0;  ///< 0: the processor has no bf16 products
};

/// Measures the rates on `threads` threads, in some tens of milliseconds: the best of several repetitions. The
/// two types alternate, so that a disturbance affects both.
ProductRates measure_product_rates(int threads);

}  // namespace sixfold
