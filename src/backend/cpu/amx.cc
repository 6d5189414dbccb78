#include "backend/cpu/amx.h"

#include <hwy/targets.h>

#include <cstdint>

#if HWY_ARCH_X86_64 && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sixfold {
namespace {

#define SIXFOLD_TILES [[gnu::target("amx-tile")]]

bool request_permission() {
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, request, tile_data) == 0;
  return granted;
}

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

}  // namespace

AmxSupport amx_support() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  // All processors with AMX have the AVX-512 instructions of AVX3_DL, too.
  if (!(hwy::SupportedTargets() & HWY_AVX3_DL) || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return {};
  const bool bf16 = (d >> 22 & 1) != 0, tiles = (d >> 24 & 1) != 0, int8 = (d >> 25 & 1) != 0;
  if (!tiles || !request_permission()) return {};
  return {.bf16 = bf16, .int8 = int8};
}

SIXFOLD_TILES void begin_tiles() {
  static constexpr TileConfig config;
  _tile_loadconfig(&config);
}

SIXFOLD_TILES void end_tiles() { _tile_release(); }

}  // namespace sixfold

#else

namespace sixfold {

AmxSupport amx_support() { return {}; }
void begin_tiles() {}
void end_tiles() {}

}  // namespace sixfold

#endif
