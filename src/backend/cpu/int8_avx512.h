#pragma once
#include <algorithm>

#include "backend/cpu/int8.h"
#include "backend/cpu/intrinsics.h"

// The end of int8 products, which the kernels for VNNI and AMX share.

#define SIXFOLD_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]

namespace sixfold {

/// The results of 16 adjacent columns of a tile.
class SixteenResults {
 public:
  SIXFOLD_VNNI SixteenResults(const Int8Results& results, int first_column)
      : to_(results.to + first_column),
        stride_(results.stride),
        mask_(static_cast<__mmask16>((1u << std::clamp(results.columns - first_column, 0, 16)) - 1)),
        scales_(_mm512_loadu_ps(results.scales + first_column)),
        bias_(results.bias ? _mm512_maskz_loadu_ps(mask_, results.bias + first_column) : _mm512_setzero_ps()),
        has_bias_(results.bias),
        relu_(results.relu) {}

  /// Stores those of a row, given its sums.
  SIXFOLD_VNNI void store(__m512 sums, int row) const {
    __m512 values = has_bias_ ? _mm512_fmadd_ps(sums, scales_, bias_) : _mm512_mul_ps(sums, scales_);
    if (relu_) values = _mm512_max_ps(values, _mm512_setzero_ps());
    _mm512_mask_storeu_ps(to_ + row * stride_, mask_, values);
  }

 private:
  float* to_;
  int64_t stride_;
  __mmask16 mask_;
  __m512 scales_, bias_;
  bool has_bias_, relu_;
};

}  // namespace sixfold
