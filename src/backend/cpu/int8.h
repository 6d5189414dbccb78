#pragma once
#include <vector>

#include "backend/cpu/cpu_backend.h"

// Products with weights of 8 or 4 bits. Activations are rounded to int8 when they are used, in groups of
// columns: a sum over a group is exact in int32, on all instruction sets, and the sums of the groups are scaled
// and added up in fp32, in order (kernel::Matmul in kernels.h).

namespace sixfold {

/// The layout of a product's operands in groups of columns. A group is a header of one word, of int32, and
/// words of elements: for activations one for each step of a kernel, for weights `in_word()` elements each.
struct Int8Layout {
  int bits;  ///< of an element of the weight: 8 or 4
  /// Number of elements of a step: four int8, or two int16. An activation fills a step's word.
  int step_size;

  /// Number of elements in a word of a weight.
  constexpr int in_word() const { return bits == 4 ? 8 : step_size; }
  /// Number of columns of a group; the last one may be shorter.
  int group() const { return bits == 8 ? 128 : 32; }
  int64_t groups(int64_t k) const { return (k + group() - 1) / group(); }
  /// Number of words of the weight in a group of `columns` columns, without the header.
  int64_t weight_words(int64_t columns) const { return (columns + in_word() - 1) / in_word(); }
  /// Number of words of the activations in a whole group, with the header.
  int64_t row_words() const { return 1 + group() / step_size; }
};

/// Rows of activations in int8: x is about scale * (rounded - zero). The zero of weights of 4 bits is 0.
struct Int8Rows {
  /// [rows, groups, row_words()]. The header is, for weights of 8 bits, the pair of int16 (-zero, sum of the
  /// rounded numbers), which a kernel multiplies with that of the weight; for 4 bits it is unused.
  const int32_t* data;
  const float* scales;  ///< [rows, groups]
  const float* sums;  ///< [rows, groups]: for weights of 4 bits, the sum of the group's rounded x; else unused
  int64_t k;          ///< number of columns
};

/// sums [rows, tile_cols] = rows of x times a panel; 1 <= rows <= tile_rows.
using Int8Tile = void (*)(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel, float* sums);

/// The kernels of an instruction set. A panel holds `tile_cols` output channels side by side, word by word.
/// Words of 8 bits hold the elements of one step: int16, or bytes with 128 added, since VNNI multiplies
/// unsigned by signed ones. In words of 4 bits element e of step s is at the bits from e * 32 / step_size + s
/// * 4.
///
/// The header of a group is, for 8 bits, a pair of int16: the sum of the weights, and -128 if that was added.
/// Its product with the header of a row removes the zero of the activations and the 128 of the weights. For 4
/// bits it holds two bf16: the scale in the lower half and the offset in the upper one.
struct Int8Kernel {
  int tile_rows, tile_cols;
  int step_size;
  Int8Tile eight_bits, four_bits;
};

/// A kernel with steps of two int16, written with Highway.
Int8Kernel int8_pairs_kernel();
/// A kernel with steps of four int8, for AVX512-VNNI. Its tiles are null if the processor, or the instruction
/// set it is limited to, does not have VNNI.
Int8Kernel int8_vnni_kernel();
/// Returns the fastest kernel that the processor supports.
Int8Kernel best_int8_kernel();

/// A weight of 8 or 4 bits in panels.
struct Int8Panels final : PackedWeight {
  Int8Panels() : PackedWeight(DType::i8) {}
  Int8Kernel kernel;
  Int8Layout layout;
  int64_t k = 0, n = 0;
  Scratch memory;
  int32_t* data = nullptr;    ///< [panels, words of k, tile_cols]
  std::vector<float> scales;  ///< [n], padded with zeros to whole panels; of 4 bits: ones

  Int8Tile tile() const { return layout.bits == 8 ? kernel.eight_bits : kernel.four_bits; }
  /// Number of words of k, with the headers of the groups.
  int64_t words() const {
    const int64_t whole = k / layout.group(), rest = k % layout.group();
    return whole * (1 + layout.weight_words(layout.group())) + (rest ? 1 + layout.weight_words(rest) : 0);
  }
};

/// Packs b [n, k], whose elements are int8. Each row is an output channel with its scale, or has a scale and an
/// offset for each group of 4 bits (View::scales).
std::shared_ptr<PackedWeight> pack_int8(View b, const Int8Kernel& kernel);

}  // namespace sixfold
