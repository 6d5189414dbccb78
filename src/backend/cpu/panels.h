// Matrix products computed in tiles, used by linear layers and attention. Included once for each instruction
// set.
//
// A tile of C, tile_rows x tile_cols, stays in registers while k advances. B is packed into panels of tile_cols
// columns, so that its rows are read in order. A block of A is copied so that its rows do not evict one another
// from the cache. Every element of C is one chain of fused multiply-adds over k = 0, 1, 2, ..., whatever the
// block sizes. Therefore the bits of a row depend on no other row.
#if defined(SIXFOLD_CPU_PANELS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SIXFOLD_CPU_PANELS_H
#undef SIXFOLD_CPU_PANELS_H
#else
#define SIXFOLD_CPU_PANELS_H
#endif

#include <cstring>

#include "backend/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

// AVX-512 and Arm have 32 vector registers, other instruction sets 16. Two hold B and one holds A.
inline constexpr int tile_rows = (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM) ? 12 : 6;
inline constexpr int tile_vectors = 2;
inline constexpr int tile_cols = tile_vectors * lanes;
// block of k; tile_rows x k_block elements of A fit into the first-level cache
inline constexpr int k_block = 256;
inline constexpr int a_stride = k_block + 16;  // padded so that rows of the copy of A do not share cache sets

// steps of k by which rows of B are fetched into the cache before they are used
inline constexpr int prefetch_steps = 16;

/// A matrix, possibly transposed: element (i, j) is data[i * row + j * col], and one of the strides is 1.
struct Strided {
  const float* data;
  int64_t row, col;
};

HWY_INLINE int64_t panel_count(int64_t n) { return (n + tile_cols - 1) / tile_cols; }
HWY_INLINE int64_t panels_size(int64_t k, int64_t n) { return panel_count(n) * tile_cols * k; }

/// to[i * to_stride + j] = from[j * from_stride + i] for i < rows, j < cols.
HWY_INLINE void transpose(const float* from, int64_t from_stride, int64_t rows, int64_t cols, float* to,
                          int64_t to_stride) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 4> d;  // four columns of four
  for (; i + 4 <= rows; i += 4) {
    int64_t j = 0;
    for (; j + 4 <= cols; j += 4) {
      const float* x = from + j * from_stride + i;
      float* y = to + i * to_stride + j;
      const auto a = hn::LoadU(d, x), b = hn::LoadU(d, x + from_stride), c = hn::LoadU(d, x + 2 * from_stride),
                 e = hn::LoadU(d, x + 3 * from_stride);
      const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
      const auto ac_upper = hn::InterleaveUpper(d, a, c), be_upper = hn::InterleaveUpper(d, b, e);
      hn::StoreU(hn::InterleaveLower(d, ac, be), d, y);
      hn::StoreU(hn::InterleaveUpper(d, ac, be), d, y + to_stride);
      hn::StoreU(hn::InterleaveLower(d, ac_upper, be_upper), d, y + 2 * to_stride);
      hn::StoreU(hn::InterleaveUpper(d, ac_upper, be_upper), d, y + 3 * to_stride);
    }
    for (; j < cols; ++j)
      for (int64_t s = i; s < i + 4; ++s) to[s * to_stride + j] = from[j * from_stride + s];
  }
#endif
  for (; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) to[i * to_stride + j] = from[j * from_stride + i];
}

/// Copies rows [k0, k1) of b [k, n] into panel `p` of `panels`, whose height is k. Columns beyond n are zero.
HWY_INLINE void pack_panel(const Strided& b, int64_t k, int64_t n, int64_t p, int64_t k0, int64_t k1,
                           float* panels) {
  float* out = panels + p * tile_cols * k + k0 * tile_cols;
  const int64_t n0 = p * tile_cols, cols = std::min<int64_t>(tile_cols, n - n0);
  if (cols < tile_cols) std::memset(out, 0, sizeof(float) * (k1 - k0) * tile_cols);
  if (b.col == 1) {
    for (int64_t i = k0; i < k1; ++i, out += tile_cols) {
      const float* from = b.data + i * b.row + n0;
      if (cols == tile_cols)
        std::memcpy(out, from, sizeof(float) * tile_cols);
      else
        std::memcpy(out, from, sizeof(float) * cols);
    }
    return;
  }
  transpose(b.data + k0 + n0 * b.col, b.col, k1 - k0, cols, out, tile_cols);
}

/// Packs all of b [k, n].
HWY_INLINE void pack_panels(const Strided& b, int64_t k, int64_t n, float* panels) {
  for (int64_t p = 0; p < panel_count(n); ++p) pack_panel(b, k, n, p, 0, k, panels);
}

/// c [rows, tile_cols] = a [rows, k] b [k, tile_cols], or c += a b if `accumulate` is set. Element (r, i) of a
/// is at a[r * A_row + i * A_col].
template <int rows, int A_row, int A_col>
HWY_NOINLINE void multiply_tile(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t k, float* c,
                                int64_t c_stride, bool accumulate) {
  const Floats d;
  Vector sum0[rows], sum1[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    sum0[r] = accumulate ? hn::LoadU(d, c + r * c_stride) : hn::Zero(d);
    sum1[r] = accumulate ? hn::LoadU(d, c + r * c_stride + lanes) : hn::Zero(d);
  }
  for (int64_t i = 0; i < k; ++i) {
    if constexpr (rows < tile_rows) {  // with few rows, reading B takes most of the time
      hwy::Prefetch(b + prefetch_steps * tile_cols);
      if constexpr (tile_cols > 16) hwy::Prefetch(b + prefetch_steps * tile_cols + 16);
    }
    const auto b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const auto factor = hn::Set(d, a[r * A_row]);
      sum0[r] = hn::MulAdd(factor, b0, sum0[r]);
      sum1[r] = hn::MulAdd(factor, b1, sum1[r]);
    }
    a += A_col;
    b += tile_cols;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    hn::StoreU(sum0[r], d, c + r * c_stride);
    hn::StoreU(sum1[r], d, c + r * c_stride + lanes);
  }
}

using TileFunction = void (*)(const float*, const float*, int64_t, float*, int64_t, bool);

template <int A_row, int A_col>
HWY_INLINE TileFunction tile_function(int rows) {
  static constexpr TileFunction table[] = {
    multiply_tile<1, A_row, A_col>,
    multiply_tile<2, A_row, A_col>,
    multiply_tile<3, A_row, A_col>,
    multiply_tile<4, A_row, A_col>,
    multiply_tile<5, A_row, A_col>,
    multiply_tile<6, A_row, A_col>,
#if (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM)
    multiply_tile<7, A_row, A_col>,
    multiply_tile<8, A_row, A_col>,
    multiply_tile<9, A_row, A_col>,
    multiply_tile<10, A_row, A_col>,
    multiply_tile<11, A_row, A_col>,
    multiply_tile<12, A_row, A_col>,
#endif
  };
  return table[rows - 1];
}

/// Copies a [rows, k] to the layout that a tile reads: with stride a_stride between rows or, if a is
/// transposed, with stride tile_rows between columns. Returns the tile function to use.
HWY_INLINE TileFunction copy_a(const Strided& a, int rows, int64_t k, float* copy) {
  if (a.col == 1) {
    for (int r = 0; r < rows; ++r) std::memcpy(copy + r * a_stride, a.data + r * a.row, sizeof(float) * k);
    return tile_function<a_stride, 1>(rows);
  }
  if (rows == tile_rows)
    for (int64_t i = 0; i < k; ++i)
      std::memcpy(copy + i * tile_rows, a.data + i * a.col, sizeof(float) * tile_rows);
  else
    for (int64_t i = 0; i < k; ++i)
      std::memcpy(copy + i * tile_rows, a.data + i * a.col, sizeof(float) * static_cast<size_t>(rows));
  return tile_function<1, tile_rows>(rows);
}

/// The epilogue of a block of C, applied when its sums are complete. Pointers refer to the first element of the
/// block.
struct BlockEpilogue {
  const float* bias = nullptr;
  bool relu = false;
  const float* relu_of = nullptr;
  int64_t relu_of_stride = 0;
};

HWY_INLINE void finish_tile(const BlockEpilogue& e, int rows, int64_t cols, float* c, int64_t c_stride,
                            int64_t row, int64_t col) {
  const Floats d;
  for (int r = 0; r < rows; ++r) {
    float* out = c + r * c_stride;
    const float* sign = e.relu_of ? e.relu_of + (row + r) * e.relu_of_stride + col : nullptr;
    over_vectors(cols, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
      auto v = load(out + j);
      if (e.bias) v = hn::Add(v, load(e.bias + col + j));
      if (e.relu) v = hn::Max(v, hn::Zero(d));
      if (sign) v = hn::IfThenElseZero(hn::Gt(load(sign + j), hn::Zero(d)), v);
      store(v, out + j);
    });
  }
}

/// c [m, n] = a [m, k] b, or c += a b if `accumulate` is set; b is in panels of height `k_height`. `copy`:
/// scratch memory for tile_rows * a_stride floats.
HWY_INLINE void multiply_panels(const Strided& a, const float* panels, int64_t k_height, int64_t m, int64_t n,
                                float* c, int64_t c_stride, bool accumulate, float* copy,
                                const BlockEpilogue* epilogue = nullptr) {
  HWY_ALIGN float edge[tile_rows * tile_cols];
  // also once for k = 0, where the sums are empty
  for (int64_t k0 = 0; k0 == 0 || k0 < k_height; k0 += k_block) {
    const int64_t k = std::min<int64_t>(k_block, k_height - k0);
    for (int64_t i = 0; i < m; i += tile_rows) {
      const int rows = static_cast<int>(std::min<int64_t>(tile_rows, m - i));
      const auto tile = copy_a({a.data + i * a.row + k0 * a.col, a.row, a.col}, rows, k, copy);
      for (int64_t j = 0; j < n; j += tile_cols) {
        const float* panel = panels + j * k_height + k0 * tile_cols;
        float* to = c + i * c_stride + j;
        const int64_t cols = std::min<int64_t>(tile_cols, n - j);
        const bool add = accumulate || k0 > 0;
        if (cols == tile_cols) {
          tile(copy, panel, k, to, c_stride, add);
        } else {
          if (add)
            for (int r = 0; r < rows; ++r)
              std::memcpy(edge + r * tile_cols, to + r * c_stride, sizeof(float) * cols);
          tile(copy, panel, k, edge, tile_cols, add);
          for (int r = 0; r < rows; ++r)
            std::memcpy(to + r * c_stride, edge + r * tile_cols, sizeof(float) * cols);
        }
        if (epilogue && k0 + k == k_height) finish_tile(*epilogue, rows, cols, to, c_stride, i, j);
      }
    }
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
