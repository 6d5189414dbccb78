#pragma once
#include <vector>

#include "backend/cpu/cpu_backend.h"

// MatmulPrecision with weights in int8. A weight w [n, k] has a scale for each row (an output channel), an
// activation x [m, k] is rounded to int8 when it is used, with a scale and a zero for each of its rows (x is
// about scale * (rounded - zero)); the sums over k are exact in int32, whatever the instruction set, so that
// they depend on no order.

namespace sixfold {

/// Rows of activations in int8, as a kernel reads them: each has `groups` groups of four bytes.
struct Int8Rows {
  const int32_t* data;   ///< [rows, groups]
  const float* scales;   ///< [rows]
  const int32_t* zeros;  ///< [rows]
  const int32_t* start;  ///< [rows]: where a kernel's sums begin
  int64_t groups;
};

/// sums [rows, tile_cols] = start + rows of x times a panel, for `rows` of 1 to tile_rows.
using Int8Tile = void (*)(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel, int32_t* sums);

/// How an instruction set multiplies int8. Panels hold `tile_cols` output channels side by side: for each group
/// of k four bytes of each channel, which meet four bytes of x's row.
struct Int8Kernel {
  int tile_rows, tile_cols;
  bool
      pairs;  ///< a group is two elements in int16, else four in int8 (those of the weight above 128: unsigned)
  Int8Tile tile;
  int group_size() const { return pairs ? 2 : 4; }
};

/// Pairs in int16, on Highway's vectors.
Int8Kernel int8_pairs_kernel();
/// Quads by AVX512-VNNI; an empty `tile` where the processor, or the instruction set that it is held to, has
/// none.
Int8Kernel int8_vnni_kernel();
/// The fastest that the processor has.
Int8Kernel best_int8_kernel();

/// A weight in panels of int8.
struct Int8Panels final : PackedWeight {
  Int8Panels() : PackedWeight(DType::i8) {}
  Int8Kernel kernel;
  int64_t k = 0, n = 0;
  Scratch memory;
  int32_t* data = nullptr;    ///< [panels, groups, tile_cols]
  std::vector<float> scales;  ///< [n], zero up to whole panels
  std::vector<int32_t> sums;  ///< [n] of each output channel's weights, likewise

  int64_t groups() const { return (k + kernel.group_size() - 1) / kernel.group_size(); }
};

/// b [n, k] in int8, each row an output channel with its scale.
std::shared_ptr<PackedWeight> pack_int8(View b, const Int8Kernel& kernel);

}  // namespace sixfold
