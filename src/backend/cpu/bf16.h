#pragma once
#include "backend/cpu/cpu_backend.h"

// Products of matrices that are rounded to bf16, with sums in fp32. The operands are packed in tiles of 32
// steps of k. Every element of a product is one chain of sums over k = 0, 1, 2, ..., two steps at a time,
// whatever the sizes of blocks. Therefore the bits of a row depend on no other row.

namespace sixfold {

/// Rows of `a`, or columns of `b`, in a tile.
inline constexpr int64_t bf16_tile_side = 16;
/// Steps of k in a tile.
inline constexpr int64_t bf16_tile_depth = 32;
inline constexpr int64_t bf16_tile_size = bf16_tile_side * bf16_tile_depth;
/// Rows of `a`, or columns of `b`, in a panel: for each 32 steps of k it holds two tiles.
inline constexpr int64_t bf16_panel_side = 2 * bf16_tile_side;

/// A part of an fp32 matrix that fills a tile: `side` rows of `a` or columns of `b`, and `depth` steps of k. If
/// it is smaller than a tile, the rest of the tile is filled with zeros.
struct Bf16Source {
  const float* data;
  int64_t stride;  ///< distance of its rows in memory
  int64_t side, depth;
  bool k_by_rows;  ///< each row in memory is a step of k
};

/// Rounds to the nearest bf16 (ties to even) and packs a tile of `a`, [side, depth], or of `b`, [depth / 2,
/// side, 2]. Subnormal numbers become zero.
using Bf16Pack = void (*)(const Bf16Source& from, bool of_b, uint16_t* tile);

/// The operands of c [32, 32] = a b for a panel of a and a panel of b, or of c += a b if `accumulate` is set.
/// `tiles`: depth of the panels, in tiles. `half`: compute only the first 16 rows. Rows of c are `stride`
/// apart.
struct Bf16Panels {
  const uint16_t *a, *b;
  int64_t tiles;
  bool half;
  float* c;
  int64_t stride;
  bool accumulate;
};

/// The bf16 kernel of an instruction set.
struct Bf16Kernel {
  const char* name = "";
  Bf16Pack pack = nullptr;
  void (*multiply)(const Bf16Panels& p) = nullptr;
  void (*begin)() = nullptr;  ///< called by a thread before its calls of `multiply`
  void (*end)() = nullptr;    ///< called by the thread after them

  explicit operator bool() const { return multiply != nullptr; }
};

/// Kernels for AMX and for AVX512-BF16. Each is empty if the processor, the system, or the instruction set that
/// the process is limited to, does not have these instructions.
Bf16Kernel bf16_amx_kernel();
Bf16Kernel bf16_avx512_kernel();
/// Returns the faster kernel of those that the processor supports.
Bf16Kernel best_bf16_kernel();

/// A weight in panels, which are rounded to bf16.
struct Bf16Weight final : PackedWeight {
  Bf16Weight() : PackedWeight(DType::bf16) {}
  Scratch own;
  uint16_t* data = nullptr;
};

}  // namespace sixfold
