#pragma once
#include <vector>

#include "backend/cpu/cpu_backend.h"

// Products with int8 weights. A weight w [n, k] has a scale for each row (output channel). An activation x [m,
// k] is rounded to int8 when it is used, with a scale and a zero point for each row: x is about scale *
// (rounded - zero). Sums over k are exact in int32 on all instruction sets, so that they do not depend on the
// order.

namespace sixfold {

/// Rows of activations in int8, in the layout of a kernel: each row has `groups` groups of four bytes.
struct Int8Rows {
  const int32_t* data;   ///< [rows, groups]
  const float* scales;   ///< [rows]
  const int32_t* zeros;  ///< [rows]
  const int32_t* start;  ///< [rows]: initial value of a kernel's sums
  int64_t groups;
};

/// sums [rows, tile_cols] = start + rows of x times a panel; 1 <= rows <= tile_rows.
using Int8Tile = void (*)(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel, int32_t* sums);

/// The int8 kernel of an instruction set. A panel holds `tile_cols` output channels side by side: for each
/// group of k, four bytes of each channel, which are multiplied with four bytes of a row of x.
struct Int8Kernel {
  int tile_rows, tile_cols;
  /// A group is two int16 elements. Otherwise it is four int8 elements, with 128 added to those of the weight
  /// to make them unsigned.
  bool pairs;
  Int8Tile tile;
  int group_size() const { return pairs ? 2 : 4; }
};

/// A kernel with pairs of int16, written with Highway.
Int8Kernel int8_pairs_kernel();
/// A kernel with groups of four, for AVX512-VNNI. Its `tile` is null if the processor, or the instruction set
/// it is limited to, does not have VNNI.
Int8Kernel int8_vnni_kernel();
/// Returns the fastest kernel that the processor supports.
Int8Kernel best_int8_kernel();

/// An int8 weight in panels.
struct Int8Panels final : PackedWeight {
  Int8Panels() : PackedWeight(DType::i8) {}
  Int8Kernel kernel;
  int64_t k = 0, n = 0;
  Scratch memory;
  int32_t* data = nullptr;    ///< [panels, groups, tile_cols]
  std::vector<float> scales;  ///< [n], padded with zeros to whole panels
  std::vector<int32_t> sums;  ///< [n]: sum of the weights of each output channel, padded likewise

  int64_t groups() const { return (k + kernel.group_size() - 1) / kernel.group_size(); }
};

/// Packs b [n, k] in int8. Each row is an output channel with its scale.
std::shared_ptr<PackedWeight> pack_int8(View b, const Int8Kernel& kernel);

}  // namespace sixfold
