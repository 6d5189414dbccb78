#include <hwy/targets.h>

#include "backend/cpu/bf16.h"

// Uses AMX through compiler intrinsics: eight registers of 16 rows of 64 bytes.

#if HWY_ARCH_X86_64 && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sixfold {
namespace {

#define SIXFOLD_AMX [[gnu::target("amx-tile,amx-bf16")]]

/// Asks the system for the permission to use tiles, and returns whether it was granted. A process needs it.
bool request_permission() {
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, request, tile_data) == 0;
  return granted;
}

/// All processors with AMX have the AVX-512 instructions of AVX3_DL, too. If the process is limited to fewer
/// instructions, AMX is not used either.
bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!(hwy::SupportedTargets() & HWY_AVX3_DL) || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool bf16 = (d >> 22 & 1) != 0, tiles = (d >> 24 & 1) != 0;
  return bf16 && tiles && request_permission();
}

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

SIXFOLD_AMX void begin() {
  static constexpr TileConfig config;
  _tile_loadconfig(&config);
}

SIXFOLD_AMX void end() { _tile_release(); }

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
  if (!vectors || !has_amx()) return {};
  return {.name = "AMX", .pack = vectors.pack, .multiply = multiply, .begin = begin, .end = end};
}

}  // namespace sixfold

#else

namespace sixfold {

Bf16Kernel bf16_amx_kernel() { return {}; }

}  // namespace sixfold

#endif
