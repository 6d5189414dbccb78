#pragma once
#include <cstdint>

#include "backend/kernels.h"
#include "base/random.h"

namespace sixfold {

/// The random bits of features 8 * block to 8 * block + 7 of a row: 16 for each feature, in the order described
/// at `Dropout`. `row`: index into `dropout.position` and `dropout.sentence`.
inline Philox::Counter dropout_bits(const Dropout& dropout, int64_t row, int64_t block) {
  return Philox::bits({static_cast<uint32_t>(block), static_cast<uint32_t>(dropout.position.data[row]),
                       static_cast<uint32_t>(dropout.sentence.data[row]), dropout.module},
                      dropout.seed, dropout.update);
}

/// Whether dropout keeps an element.
inline bool keeps(const Dropout& dropout, int64_t row, int64_t feature) {
  if (!dropout) return true;
  const uint32_t word = dropout_bits(dropout, row, feature / 8)[feature % 8 / 2];
  return (feature % 2 ? word >> 16 : word & 0xffff) >= dropout.threshold;
}

/// Dropout of one element (section 5.4): returns 0, or x scaled so that its expected value is unchanged. The
/// same function maps the gradient of the output to that of the input.
template <class T>
T apply_dropout(const Dropout& dropout, int64_t row, int64_t feature, T x) {
  return keeps(dropout, row, feature) ? x * static_cast<T>(dropout.keep_scale()) : T{0};
}

}  // namespace sixfold
