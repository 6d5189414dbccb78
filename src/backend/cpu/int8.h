#pragma once
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"

// Products with weights of 8 or 4 bits. Activations are rounded to int8 when they are used, in groups of
// columns: a sum over a group is exact in int32, on all instruction sets, and the sums of the groups are scaled
// and added up in fp32, in order (kernel::Matmul in kernels.h).

namespace sixfold {

/// The layout of a product's operands in groups of columns. A group has a header of one word, of int32, and
/// words of elements: for activations one for each step of a kernel, for weights `in_word()` elements each. In
/// a weight the header is before the words; a row of activations has the words of all groups, then the headers.
struct Int8Layout {
  int bits;  ///< of an element of the weight: 8 or 4
  /// Number of elements of a step: four int8, or two int16. An activation fills a step's word.
  int step_size;

  /// Number of elements in a word of a weight.
  constexpr int in_word() const { return 32 / bits; }
  constexpr int64_t group() const { return columns_of_group(bits); }
  int64_t groups(int64_t k) const { return (k + group() - 1) / group(); }
  /// Number of words of the weight in a group of `columns` columns, without the header.
  int64_t weight_words(int64_t columns) const { return (columns + in_word() - 1) / in_word(); }
  /// The same for group g of a weight with k columns, whose last group may be smaller.
  int64_t weight_words(int64_t k, int64_t g) const {
    return weight_words(std::min<int64_t>(group(), k - g * group()));
  }
  /// Number of words of the activations in a whole group, without the header.
  constexpr int64_t row_words() const { return group() / step_size; }
  /// Distance of two rows of activations in words: an odd number of cache lines, so that the lines of many rows
  /// fit into the first-level cache together.
  int64_t row_stride(int64_t k) const {
    constexpr int64_t line = 16;
    return (groups(k) * (row_words() + 1) + line - 1) / line / 2 * 2 * line + line;
  }
};

/// Rows of activations in int8: x is about scale * (rounded - zero). The zero of weights of 4 bits is 0.
struct Int8Rows {
  /// [rows, row_stride(k)], from the beginning of a cache line; there is memory for whole tiles of rows. The
  /// header is, for weights of 8 bits, the pair of int16 (-zero, sum of the rounded numbers), which a kernel
  /// multiplies with that of the weight; for 4 bits it is unused.
  const int32_t* data;
  const float* scales;  ///< [rows, groups]
  const float* sums;  ///< [rows, groups]: for weights of 4 bits, the sum of the group's rounded x; else unused
  int64_t k;          ///< number of columns
};

/// How the sums of a tile become results, and where these go: they are multiplied by the scales of the output
/// channels, then come bias and ReLU.
struct Int8Results {
  const float* scales;  ///< [tile_cols]
  const float* bias;    ///< [columns], or null
  bool relu;
  float* to;  ///< [rows, columns], with rows `stride` apart
  int64_t stride;
  int columns;  ///< at most tile_cols
};

/// results [rows, columns] = rows of x times a panel; 1 <= rows <= tile_rows.
using Int8Tile = void (*)(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel,
                          const Int8Results& results);

/// An Int8Tile. `Products` has the work of an instruction set: its sizes, and for each number of bits and of
/// rows a function `tile`, which adds up the products of the groups.
template <class Products, int bits>
void multiply_int8_tile(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel,
                        const Int8Results& results) {
  constexpr auto table = []<int... less_one>(std::integer_sequence<int, less_one...>) {
    return std::array{&Products::template tile<bits, less_one + 1>...};
  };
  static constexpr auto by_rows = table(std::make_integer_sequence<int, Products::max_rows>());
  by_rows[static_cast<size_t>(rows - 1)](x, first_row, panel, results);
}

/// The kernels of an instruction set. A panel holds `tile_cols` output channels side by side, word by word.
/// Element e of step s is at the bits from e * 32 / step_size + s * bits of a word. To elements of 8 bits 128
/// is added: VNNI multiplies unsigned by signed ones, and other kernels widen them by a shift or a mask.
///
/// The header of a group is, for 8 bits, a pair of int16: the sum of the weights, and -128. Its product with
/// the header of a row removes the zero of the activations and the 128 of the weights. For 4 bits it holds two
/// bf16: the scale in the lower half and the offset in the upper one.
struct Int8Kernel {
  const char* name = "";
  int tile_rows = 0, tile_cols = 0;
  int step_size = 0;
  Int8Tile eight_bits = nullptr, four_bits = nullptr;
  /// If not null, called by a thread before and after it computes tiles of 8 bits of more than `few_rows` rows.
  void (*begin)() = nullptr, (*end)() = nullptr;
  int few_rows = 0;

  explicit operator bool() const { return eight_bits != nullptr; }
};
/// The kernel of `Products` (see multiply_int8_tile).
template <class Products>
Int8Kernel int8_kernel(const char* name) {
  return {.name = name,
          .tile_rows = Products::max_rows,
          .tile_cols = Products::columns,
          .step_size = Products::step_size,
          .eight_bits = multiply_int8_tile<Products, 8>,
          .four_bits = multiply_int8_tile<Products, 4>};
}

/// A kernel with steps of two int16, written with Highway.
Int8Kernel int8_pairs_kernel();
/// Kernels with steps of four int8, for AVX512-VNNI and for AMX, which multiplies few rows, and weights of 4
/// bits, by VNNI. Each is empty if the processor, the system, or the instruction set that the process is
/// limited to, does not have these instructions.
Int8Kernel int8_vnni_kernel();
Int8Kernel int8_amx_kernel();
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
