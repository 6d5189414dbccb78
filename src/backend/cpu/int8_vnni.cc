#include <hwy/targets.h>

#include "backend/cpu/int8.h"

// Uses AVX512-VNNI through compiler intrinsics, because Highway's AVX3 does not include it.

#if HWY_ARCH_X86_64
#include "backend/cpu/int8_avx512.h"

namespace sixfold {
namespace {

/// Products with steps of four int8.
struct Quads {
  static constexpr int max_rows = 12, columns = 32, step_size = 4;
  /// Words by which the weight is fetched into the cache before it is used.
  static constexpr int prefetched_words = 64;

  template <int bits, int rows>
  static void tile(const Int8Rows& x, int64_t first_row, const int32_t* panel, const Int8Results& results) {
    constexpr Int8Layout layout{bits, step_size};
    const int64_t groups = layout.groups(x.k), stride = layout.row_stride(x.k);
    const int32_t *from = x.data + first_row * stride, *headers = from + groups * layout.row_words();
    alignas(64) int32_t sums[rows * columns];
    alignas(64) float totals[rows * columns];
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t words = layout.weight_words(x.k, g);
      multiply<bits, rows>(from + g * layout.row_words(), headers + g, stride, panel, words, sums);
      add<bits, rows>(x, first_row * groups + g, groups, sums, panel, totals, g == 0, g + 1 == groups, results);
      panel += columns * (1 + words);
    }
  }

  /// sums [rows, columns] = rows of x, with their headers, times a group of the panel. Not inlined, so that all
  /// sums stay in registers.
  template <int bits, int rows>
  [[gnu::noinline]] SIXFOLD_VNNI static void multiply(const int32_t* x, const int32_t* headers, int64_t stride,
                                                      const int32_t* panel, int64_t words, int32_t* sums) {
    constexpr int steps = 8 / bits;  // of a word of the weight
    const __m512i element = _mm512_set1_epi32(0x0F0F0F0F);
    __m512i sum0[rows], sum1[rows];
    const __m512i header0 = _mm512_loadu_si512(panel), header1 = _mm512_loadu_si512(panel + 16);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      sum0[r] = sum1[r] = _mm512_setzero_si512();
      if (bits == 4) continue;
      const __m512i header = _mm512_set1_epi32(headers[r * stride]);
      sum0[r] = _mm512_dpwssd_epi32(sum0[r], header0, header);
      sum1[r] = _mm512_dpwssd_epi32(sum1[r], header1, header);
    }
    panel += columns;
    for (int64_t w = 0; w < words; ++w, panel += columns) {
      if constexpr (rows < max_rows / 2) {  // with few rows, reading the weight takes most of the time
        _mm_prefetch(panel + prefetched_words * columns, _MM_HINT_T0);
        _mm_prefetch(panel + prefetched_words * columns + 16, _MM_HINT_T0);
      }
      __m512i word0 = _mm512_loadu_si512(panel), word1 = _mm512_loadu_si512(panel + 16);
#pragma GCC unroll 2
      for (int s = 0; s < steps; ++s) {
        const __m512i w0 = bits == 8 ? word0 : _mm512_and_si512(word0, element),
                      w1 = bits == 8 ? word1 : _mm512_and_si512(word1, element);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {  // the weight is the unsigned operand
          const __m512i quad = _mm512_set1_epi32(x[r * stride + w * steps + s]);
          sum0[r] = _mm512_dpbusd_epi32(sum0[r], w0, quad);
          sum1[r] = _mm512_dpbusd_epi32(sum1[r], w1, quad);
        }
        if (bits == 4) word0 = _mm512_srli_epi32(word0, 4), word1 = _mm512_srli_epi32(word1, 4);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      _mm512_storeu_si512(sums + r * columns, sum0[r]);
      _mm512_storeu_si512(sums + r * columns + 16, sum1[r]);
    }
  }

  /// Adds these sums, scaled, to totals [rows, columns]; of the `first` group overwrites these. Of the `last`
  /// one it stores the results instead. `scale_place`: that of the first row's group in x.scales. `header`: of
  /// the weight's group.
  template <int bits, int rows>
  SIXFOLD_VNNI static void add(const Int8Rows& x, int64_t scale_place, int64_t groups, const int32_t* sums,
                               const int32_t* header, float* totals, bool first, bool last,
                               const Int8Results& results) {
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
    for (int c = 0; c < columns; c += 16) {
      const __m512i both = _mm512_loadu_si512(header + c);
      const __m512 weight_scale = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)),
                   weight_offset = _mm512_castsi512_ps(_mm512_and_si512(both, upper));
      const SixteenResults finished(results, c);
      for (int r = 0; r < rows; ++r) {
        const int64_t i = scale_place + r * groups;
        float* to = totals + r * columns + c;
        const __m512 sum = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + r * columns + c));
        __m512 scale = _mm512_set1_ps(x.scales[i]), total = first ? _mm512_setzero_ps() : _mm512_loadu_ps(to);
        if (bits == 4) {
          scale = _mm512_mul_ps(scale, weight_scale);
          total = _mm512_fmadd_ps(_mm512_set1_ps(x.sums[i]), weight_offset, total);
        }
        total = _mm512_fmadd_ps(scale, sum, total);
        if (last)
          finished.store(total, r);
        else
          _mm512_storeu_ps(to, total);
      }
    }
  }
};

}  // namespace

Int8Kernel int8_vnni_kernel() {
  const bool supported = (hwy::SupportedTargets() & HWY_AVX3) && __builtin_cpu_supports("avx512vnni");
  if (!supported) return {};
  return int8_kernel<Quads>("VNNI");
}

}  // namespace sixfold

#else

namespace sixfold {

Int8Kernel int8_vnni_kernel() { return {}; }

}  // namespace sixfold

#endif
