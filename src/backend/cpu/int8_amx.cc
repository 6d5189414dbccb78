#include <hwy/targets.h>

#include "backend/cpu/amx.h"
#include "backend/cpu/int8.h"

// Uses AMX through compiler intrinsics. The operands are those of AVX512-VNNI: words of four int8 side by side
// are rows of a tile. What does not fill a tile, and few rows, are left to VNNI.

#if HWY_ARCH_X86_64 && defined(__linux__)
#include "backend/cpu/int8_avx512.h"

namespace sixfold {
namespace {

#define SIXFOLD_AMX [[gnu::target("amx-tile,amx-int8")]]

constexpr int max_rows = 32, columns = 32;
constexpr int tile_side = 16;  ///< rows of a tile, and words in its rows
/// Up to so many rows VNNI is faster.
constexpr int few_rows = 4;

/// A group of columns of some rows and of a panel.
struct Group {
  const int32_t *x, *headers;  ///< of the first row
  int64_t stride;              ///< distance of the rows of x and of headers
  const float* scales;         ///< of the first row
  int64_t scale_stride;
  const int32_t* panel;  ///< begins with its header
  int64_t words;         ///< number of words of the panel, without the header

  int64_t tiles() const { return words / tile_side; }
};

/// sums [rows, columns] = rows of x times the whole tiles of the panel; rows: 16 if `half`, otherwise 32. Tiles
/// 0 to 3 hold sums, 4 and 5 tiles of x, 6 and 7 tiles of the panel.
template <bool half>
SIXFOLD_AMX void multiply_tiles(const Group& group, int32_t* sums) {
  constexpr size_t width = columns * sizeof(int32_t);
  const auto row_bytes = static_cast<size_t>(group.stride) * sizeof(int32_t);
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (!half) {
    _tile_zero(2);
    _tile_zero(3);
  }
  const int32_t *x = group.x, *panel = group.panel + columns;
  for (int64_t t = 0; t < group.tiles(); ++t, x += tile_side, panel += tile_side * columns) {
    _tile_loadd(4, x, row_bytes);
    _tile_loadd(6, panel, width);
    _tile_dpbsud(0, 4, 6);  // the panel is the unsigned operand
    _tile_loadd(7, panel + tile_side, width);
    _tile_dpbsud(1, 4, 7);
    if constexpr (!half) {
      _tile_loadd(5, x + tile_side * group.stride, row_bytes);
      _tile_dpbsud(2, 5, 6);
      _tile_dpbsud(3, 5, 7);
    }
  }
  _tile_stored(0, sums, width);
  _tile_stored(1, sums + tile_side, width);
  if constexpr (!half) {
    _tile_stored(2, sums + tile_side * columns, width);
    _tile_stored(3, sums + tile_side * columns + tile_side, width);
  }
}

/// Adds to the sums of a group the products of the headers and of the words after the whole tiles, and adds
/// them, scaled, to totals [rows, columns]; of the `first` group overwrites these. Of the `last` one it
/// stores the results instead.
SIXFOLD_VNNI void add_group(const Group& group, const int32_t* sums, int rows, float* totals, bool first,
                            bool last, const Int8Results& results) {
  const __m512i header0 = _mm512_loadu_si512(group.panel),
                header1 = _mm512_loadu_si512(group.panel + tile_side);
  const SixteenResults finished0(results, 0), finished1(results, tile_side);
  for (int r = 0; r < rows; ++r, sums += columns, totals += columns) {
    const __m512i header = _mm512_set1_epi32(group.headers[r * group.stride]);
    __m512i sum0 = _mm512_dpwssd_epi32(_mm512_loadu_si512(sums), header0, header),
            sum1 = _mm512_dpwssd_epi32(_mm512_loadu_si512(sums + tile_side), header1, header);
    for (int64_t w = group.tiles() * tile_side; w < group.words; ++w) {
      const __m512i quad = _mm512_set1_epi32(group.x[r * group.stride + w]);
      const int32_t* word = group.panel + (1 + w) * columns;
      sum0 = _mm512_dpbusd_epi32(sum0, _mm512_loadu_si512(word), quad);
      sum1 = _mm512_dpbusd_epi32(sum1, _mm512_loadu_si512(word + tile_side), quad);
    }
    const __m512 scale = _mm512_set1_ps(group.scales[r * group.scale_stride]), zero = _mm512_setzero_ps(),
                 before0 = first ? zero : _mm512_loadu_ps(totals),
                 before1 = first ? zero : _mm512_loadu_ps(totals + tile_side),
                 total0 = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sum0), before0),
                 total1 = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sum1), before1);
    if (last) {
      finished0.store(total0, r);
      finished1.store(total1, r);
    } else {
      _mm512_storeu_ps(totals, total0);
      _mm512_storeu_ps(totals + tile_side, total1);
    }
  }
}

/// The tiles of one group are multiplied while the sums of the group before are added.
void multiply_rows(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel,
                   const Int8Results& results) {
  constexpr Int8Layout layout{8, 4};
  const int64_t groups = layout.groups(x.k), stride = layout.row_stride(x.k);
  const int32_t *from = x.data + first_row * stride, *headers = from + groups * layout.row_words();
  const auto group = [&](int64_t g) {
    return Group{.x = from + g * layout.row_words(),
                 .headers = headers + g,
                 .stride = stride,
                 .scales = x.scales + first_row * groups + g,
                 .scale_stride = groups,
                 .panel = panel + g * columns * (1 + layout.weight_words(layout.group())),
                 .words = layout.weight_words(x.k, g)};
  };
  const auto multiply = rows <= tile_side ? multiply_tiles<true> : multiply_tiles<false>;
  alignas(64) int32_t sums[2][max_rows * columns];
  alignas(64) float totals[max_rows * columns];
  multiply(group(0), sums[0]);
  for (int64_t g = 0; g < groups; ++g) {
    if (g + 1 < groups) multiply(group(g + 1), sums[(g + 1) % 2]);
    add_group(group(g), sums[g % 2], rows, totals, g == 0, g + 1 == groups, results);
  }
}

/// Computes a tile by VNNI, as many rows at a time as its kernel takes.
template <Int8Tile Int8Kernel::*tile>
void multiply_by_vnni(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel,
                      const Int8Results& results) {
  static const Int8Kernel vnni = int8_vnni_kernel();
  Int8Results part = results;
  for (int r = 0; r < rows; r += vnni.tile_rows, part.to += vnni.tile_rows * part.stride)
    (vnni.*tile)(x, first_row + r, std::min(vnni.tile_rows, rows - r), panel, part);
}

void multiply(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel,
              const Int8Results& results) {
  const Int8Tile tile = rows > few_rows ? multiply_rows : multiply_by_vnni<&Int8Kernel::eight_bits>;
  tile(x, first_row, rows, panel, results);
}

}  // namespace

Int8Kernel int8_amx_kernel() {
  const Int8Kernel vnni = int8_vnni_kernel();
  if (!vnni || !amx_support().int8 || vnni.tile_cols != columns) return {};
  return {.name = "AMX",
          .tile_rows = max_rows,
          .tile_cols = columns,
          .step_size = vnni.step_size,
          .eight_bits = multiply,
          .four_bits = multiply_by_vnni<&Int8Kernel::four_bits>,
          .begin = begin_tiles,
          .end = end_tiles,
          .few_rows = few_rows};
}

}  // namespace sixfold

#else

namespace sixfold {

Int8Kernel int8_amx_kernel() { return {}; }

}  // namespace sixfold

#endif
