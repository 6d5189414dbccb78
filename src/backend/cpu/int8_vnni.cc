#include <hwy/targets.h>

#include <algorithm>

#include "backend/cpu/int8.h"

// Uses AVX512-VNNI through compiler intrinsics, because Highway's AVX3 does not include it.

#if HWY_ARCH_X86_64
#include <immintrin.h>

namespace sixfold {
namespace {

#define SIXFOLD_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]

constexpr int max_rows = 12, columns = 32;

/// Multiplies groups of four. The weight is the unsigned operand, so that a group of x can be broadcast
/// directly from memory.
template <int rows>
SIXFOLD_VNNI void multiply_quads(const Int8Rows& x, int64_t first_row, const int32_t* panel, int32_t* sums) {
  const int32_t* a = x.data + first_row * x.groups;
  __m512i sum0[rows], sum1[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) sum0[r] = sum1[r] = _mm512_set1_epi32(x.start[first_row + r]);
  for (int64_t g = 0; g < x.groups; ++g, panel += columns) {
    const __m512i w0 = _mm512_loadu_si512(panel), w1 = _mm512_loadu_si512(panel + 16);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const __m512i group = _mm512_set1_epi32(a[r * x.groups + g]);
      sum0[r] = _mm512_dpbusd_epi32(sum0[r], w0, group);
      sum1[r] = _mm512_dpbusd_epi32(sum1[r], w1, group);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    _mm512_storeu_si512(sums + r * columns, sum0[r]);
    _mm512_storeu_si512(sums + r * columns + 16, sum1[r]);
  }
}

void multiply_tile(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel, int32_t* sums) {
  static constexpr void (*by_rows[])(const Int8Rows&, int64_t, const int32_t*, int32_t*) = {
      multiply_quads<1>, multiply_quads<2>,  multiply_quads<3>,  multiply_quads<4>,
      multiply_quads<5>, multiply_quads<6>,  multiply_quads<7>,  multiply_quads<8>,
      multiply_quads<9>, multiply_quads<10>, multiply_quads<11>, multiply_quads<max_rows>,
  };
  by_rows[rows - 1](x, first_row, panel, sums);
}

}  // namespace

Int8Kernel int8_vnni_kernel() {
  const bool supported = (hwy::SupportedTargets() & HWY_AVX3) && __builtin_cpu_supports("avx512vnni");
  return {max_rows, columns, false, supported ? multiply_tile : nullptr};
}

}  // namespace sixfold

#else

namespace sixfold {

Int8Kernel int8_vnni_kernel() { return {}; }

}  // namespace sixfold

#endif
