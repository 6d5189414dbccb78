#include <hwy/targets.h>

#include "backend/cpu/bf16.h"

// Uses AVX512-BF16 through compiler intrinsics, because Highway's AVX3 does not include it.

#if HWY_ARCH_X86_64
#include <cpuid.h>

#include "backend/cpu/intrinsics.h"

namespace sixfold {
namespace {

#define SIXFOLD_BF16 [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]]

bool has_avx512_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return (hwy::SupportedTargets() & HWY_AVX3) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1) != 0;
}

/// The mask of the first `count` lanes.
SIXFOLD_BF16 inline __mmask16 first(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1u << count) - 1);
}

/// Rounds two vectors to bf16 in one vector. `low` becomes its lower half.
SIXFOLD_BF16 inline __m512i round_pair(__m512 low, __m512 high) {
  const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
  __m512i bits;
  __builtin_memcpy(&bits, &both, sizeof bits);
  return bits;
}

/// Transposes 16 x 16 elements of 32 bits.
SIXFOLD_BF16 inline void transpose(__m512i (&v)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {  // pairs of rows
    t[2 * i] = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // four rows
    v[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    v[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    v[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    v[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // eight rows: column i of each lane
    t[i] = _mm512_shuffle_i32x4(v[i], v[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_i32x4(v[i], v[4 + i], 0xdd);
    t[8 + i] = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0x88);
    t[12 + i] = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
    v[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xdd);
    v[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
    v[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xdd);
  }
}

SIXFOLD_BF16 void pack(const Bf16Source& from, bool of_b, uint16_t* tile) {
  __m512i v[16];
  if (from.k_by_rows) {  // v[r]: steps 2r and 2r + 1 of each row of a, or column of b
    const __mmask16 mask = first(from.side);
    const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                           22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    for (int64_t r = 0; r < 16; ++r) {
      const float* row = from.data + 2 * r * from.stride;
      const __m512 even = 2 * r < from.depth ? _mm512_maskz_loadu_ps(mask, row) : _mm512_setzero_ps();
      const __m512 odd =
          2 * r + 1 < from.depth ? _mm512_maskz_loadu_ps(mask, row + from.stride) : _mm512_setzero_ps();
      v[r] = _mm512_permutexvar_epi16(pairs, round_pair(even, odd));
    }
  } else {  // v[i]: all steps of one row of a, or column of b
    const __mmask16 low = first(from.depth), high = first(from.depth - 16);
    for (int64_t i = 0; i < 16; ++i) {
      const float* row = from.data + i * from.stride;
      v[i] = i < from.side ? round_pair(_mm512_maskz_loadu_ps(low, row), _mm512_maskz_loadu_ps(high, row + 16))
                           : _mm512_setzero_si512();
    }
  }
  if (from.k_by_rows != of_b) transpose(v);
  for (int64_t i = 0; i < 16; ++i) _mm512_storeu_si512(tile + 32 * i, v[i]);
}

/// Computes 8 rows of c.
SIXFOLD_BF16 void multiply_rows(const Bf16Panels& p, int64_t row) {
  constexpr int rows = 8;
  float* c = p.c + row * p.stride;
  __m512 sum0[rows], sum1[rows];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    sum0[i] = p.accumulate ? _mm512_loadu_ps(c + i * p.stride) : _mm512_setzero_ps();
    sum1[i] = p.accumulate ? _mm512_loadu_ps(c + i * p.stride + 16) : _mm512_setzero_ps();
  }
  const uint16_t* a = p.a + row / bf16_tile_side * bf16_tile_size + row % bf16_tile_side * bf16_tile_depth;
  const uint16_t* b = p.b;
  for (int64_t t = 0; t < p.tiles; ++t, a += 2 * bf16_tile_size, b += 2 * bf16_tile_size)
    for (int r = 0; r < 16; ++r) {
      __m512bh b0, b1;
      __builtin_memcpy(&b0, b + 32 * r, sizeof b0);
      __builtin_memcpy(&b1, b + bf16_tile_size + 32 * r, sizeof b1);
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) {
        int32_t pair;
        __builtin_memcpy(&pair, a + i * bf16_tile_depth + 2 * r, sizeof pair);
        const __m512i wide = _mm512_set1_epi32(pair);
        __m512bh x;
        __builtin_memcpy(&x, &wide, sizeof x);
        sum0[i] = _mm512_dpbf16_ps(sum0[i], x, b0);
        sum1[i] = _mm512_dpbf16_ps(sum1[i], x, b1);
      }
    }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    _mm512_storeu_ps(c + i * p.stride, sum0[i]);
    _mm512_storeu_ps(c + i * p.stride + 16, sum1[i]);
  }
}

void multiply(const Bf16Panels& p) {
  for (int64_t row = 0; row < (p.half ? 16 : 32); row += 8) multiply_rows(p, row);
}

}  // namespace

Bf16Kernel bf16_avx512_kernel() {
  if (!has_avx512_bf16()) return {};
  return {.name = "AVX512-BF16", .pack = pack, .multiply = multiply, .begin = [] {}, .end = [] {}};
}

}  // namespace sixfold

#else

namespace sixfold {

Bf16Kernel bf16_avx512_kernel() { return {}; }

}  // namespace sixfold

#endif
