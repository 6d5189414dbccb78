#include <hwy/targets.h>

#include "backend/cpu/amx.h"
#include "backend/cpu/bf16.h"

// Uses AMX through compiler intrinsics.

#if HWY_ARCH_X86_64 && defined(__linux__)
#include <immintrin.h>

namespace sixfold {
namespace {

#define SIXFOLD_AMX [[gnu::target("amx-tile,amx-bf16")]]

/// Prefetches rows of c, so that the stores do not wait for memory.
inline void prefetch(const float* c, int64_t stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    __builtin_prefetch(c + r * stride, 1);
    __builtin_prefetch(c + r * stride + 16, 1);
  }
}

// Tiles 0 to 3 hold c, 4 and 5 tiles of a, 6 and 7 tiles of b.

SIXFOLD_AMX void multiply_half(const Bf16Panels& p) {
  const auto stride = static_cast<size_t>(p.stride) * sizeof(float);
  if (p.accumulate) {
    _tile_loadd(0, p.c, stride);
    _tile_loadd(1, p.c + 16, stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
  }
  const uint16_t *a = p.a, *b = p.b;
  for (int64_t t = 0; t < p.tiles; ++t, a += 2 * bf16_tile_size, b += 2 * bf16_tile_size) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + bf16_tile_size, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
  }
  _tile_stored(0, p.c, stride);
  _tile_stored(1, p.c + 16, stride);
}

SIXFOLD_AMX void multiply(const Bf16Panels& p) {
  if (p.half) return multiply_half(p);
  const auto stride = static_cast<size_t>(p.stride) * sizeof(float);
  float* lower = p.c + 16 * p.stride;
  if (p.accumulate) {
    _tile_loadd(0, p.c, stride);
    _tile_loadd(1, p.c + 16, stride);
    _tile_loadd(2, lower, stride);
    _tile_loadd(3, lower + 16, stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    prefetch(p.c, p.stride, 32);
  }
  const uint16_t *a = p.a, *b = p.b;
  for (int64_t t = 0; t < p.tiles; ++t, a += 2 * bf16_tile_size, b += 2 * bf16_tile_size) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + bf16_tile_size, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, a + bf16_tile_size, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, p.c, stride);
  _tile_stored(1, p.c + 16, stride);
  _tile_stored(2, lower, stride);
  _tile_stored(3, lower + 16, stride);
}

}  // namespace

Bf16Kernel bf16_amx_kernel() {
  const Bf16Kernel vectors = bf16_avx512_kernel();
  if (!vectors || !amx_support().bf16) return {};
  return {.name = "AMX", .pack = vectors.pack, .multiply = multiply, .begin = begin_tiles, .end = end_tiles};
}

}  // namespace sixfold

#else

namespace sixfold {

Bf16Kernel bf16_amx_kernel() { return {}; }

}  // namespace sixfold

#endif
