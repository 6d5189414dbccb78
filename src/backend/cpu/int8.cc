#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/int8.cc"
#include "backend/cpu/int8.h"

#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "backend/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

using Ints = hn::RebindToSigned<Words>;

inline constexpr int pair_rows = (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM) ? 12 : 6;
inline constexpr int pair_cols = 2 * lanes;

/// Adds the two products of a group of int16 pairs to `sum`.
HWY_INLINE hn::Vec<Ints> add_pairs(hn::Vec<Ints> a, hn::Vec<Ints> b, hn::Vec<Ints> sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const Ints d;
  const hn::Repartition<int16_t, Ints> pairs;
  auto unused = hn::Zero(d);
  return hn::ReorderWidenMulAccumulate(d, hn::BitCast(pairs, a), hn::BitCast(pairs, b), sum, unused);
#else
  const auto low = [&](auto v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const auto high = [&](auto v) HWY_ATTR { return hn::ShiftRight<16>(v); };
  return hn::Add(sum, hn::Add(hn::Mul(low(a), low(b)), hn::Mul(high(a), high(b))));
#endif
}

template <int rows>
HWY_NOINLINE void multiply_pairs(const Int8Rows& x, int64_t first_row, const int32_t* panel, int32_t* sums) {
  const Ints d;
  const int32_t* a = x.data + first_row * x.groups;
  hn::Vec<Ints> sum0[rows], sum1[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) sum0[r] = sum1[r] = hn::Set(d, x.start[first_row + r]);
  for (int64_t g = 0; g < x.groups; ++g, panel += pair_cols) {
    const auto w0 = hn::LoadU(d, panel), w1 = hn::LoadU(d, panel + lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const auto group = hn::Set(d, a[r * x.groups + g]);
      sum0[r] = add_pairs(group, w0, sum0[r]);
      sum1[r] = add_pairs(group, w1, sum1[r]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    hn::StoreU(sum0[r], d, sums + r * pair_cols);
    hn::StoreU(sum1[r], d, sums + r * pair_cols + lanes);
  }
}

void multiply_pairs_tile(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel, int32_t* sums) {
  static constexpr void (*by_rows[])(const Int8Rows&, int64_t, const int32_t*, int32_t*) = {
    multiply_pairs<1>,
    multiply_pairs<2>,
    multiply_pairs<3>,
    multiply_pairs<4>,
    multiply_pairs<5>,
    multiply_pairs<6>,
#if (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM)
    multiply_pairs<7>,
    multiply_pairs<8>,
    multiply_pairs<9>,
    multiply_pairs<10>,
    multiply_pairs<11>,
    multiply_pairs<12>,
#endif
  };
  by_rows[rows - 1](x, first_row, panel, sums);
}

Int8Kernel pairs_kernel() { return {pair_rows, pair_cols, true, multiply_pairs_tile}; }

/// The smallest and the largest number among the values of a row and zero; not finite if any value is not
/// finite.
struct ValueRange {
  float lowest, highest;
};
HWY_INLINE ValueRange value_range(const float* x, int64_t n) {
  const Floats d;
  const Ints ints;
  auto low = hn::Zero(d), high = low;
  auto max_bits = hn::Zero(ints);  // as integers, magnitudes have the same order, with NaN above all others
  over_vectors(n, [&](int64_t i, const auto& load, const auto&) HWY_ATTR {
    const auto v = load(x + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
    max_bits = hn::Max(max_bits, hn::BitCast(ints, hn::Abs(v)));
  });
  const float largest = hn::GetLane(hn::BitCast(d, hn::MaxOfLanes(ints, max_bits)));
  if (!(largest <= std::numeric_limits<float>::max())) return {largest, largest};
  return {hn::GetLane(hn::MinOfLanes(d, low)), max_lanes(high)};
}

/// Stores the first `count` lanes at `to`, converted to a smaller type.
template <class T>
HWY_INLINE void store_small(hn::Vec<Ints> whole, int64_t count, T* to) {
  const hn::Rebind<T, Floats> d;
  const auto small = hn::DemoteTo(d, whole);
  if (count == lanes) return hn::StoreU(small, d, to);
  HWY_ALIGN T few[lanes];
  hn::Store(small, d, few);
  std::memcpy(to, few, sizeof(T) * static_cast<size_t>(count));
}

/// Rounds rows [begin, end) of x [., k] to int8, in groups of pairs or of four, and computes the initial values
/// of their sums. 256 values, of which zero is one, are distributed evenly over the range of a row, zero
/// included. If the step between two values would not be a normal number, the range is taken to be zero.
void quantize_rows(const View& x, int64_t begin, int64_t end, bool pairs, int64_t groups, int32_t* data,
                   float* scales, int32_t* zeros, int32_t* start) {
  const Floats d;
  const Ints ints;
  constexpr float min_range = 256 * std::numeric_limits<float>::min();
  for (int64_t r = begin; r < end; ++r) {
    const float* from = x.row<float>(r);
    const ValueRange bounds = value_range(from, x.cols);
    const float range = bounds.highest - bounds.lowest;
    const bool finite = range <= std::numeric_limits<float>::max() && range >= min_range;
    const float steps = finite ? 255.0f / range : 0.0f;
    const auto factor = hn::Set(d, steps);
    const int32_t zero = finite ? -128 - static_cast<int32_t>(std::nearbyint(bounds.lowest * steps)) : 0;
    scales[r] = finite ? range / 255.0f : bounds.highest - bounds.lowest;  // close to 0, or not finite
    zeros[r] = zero;
    int32_t* row = data + r * groups;
    if (groups > 0) row[groups - 1] = 0;  // elements beyond k
    auto sum = hn::Zero(ints);
    const auto round = [&](auto v, auto there) HWY_ATTR {
      const auto whole =
          finite ? hn::Min(hn::Add(hn::NearestInt(hn::Mul(v, factor)), hn::Set(ints, zero)), hn::Set(ints, 127))
                 : hn::Zero(ints);
      sum = hn::Add(sum, hn::IfThenElseZero(there, whole));
      return whole;
    };
    const auto first = [&](int64_t count) HWY_ATTR { return hn::FirstN(ints, static_cast<size_t>(count)); };
    const auto store_rounded = [&](auto whole, int64_t count, int64_t i) HWY_ATTR {
      if (pairs)
        store_small(whole, count, reinterpret_cast<int16_t*>(row) + i);
      else
        store_small(whole, count, reinterpret_cast<int8_t*>(row) + i);
    };
    int64_t i = 0;
    for (; i + lanes <= x.cols; i += lanes)
      store_rounded(round(hn::LoadU(d, from + i), first(lanes)), lanes, i);
    if (i < x.cols) store_rounded(round(load_first(from + i, x.cols - i), first(x.cols - i)), x.cols - i, i);
    // Weights in groups of four have 128 added; this subtracts its contribution.
    start[r] = pairs ? 0 : -128 * hn::GetLane(hn::SumOfLanes(ints, sum));
  }
}

/// Converts the sums of a tile to results: applies both scales, bias, and ReLU.
HWY_INLINE void finish_sums(const kernel::Matmul& p, const Int8Rows& x, const Int8Panels& w,
                            const int32_t* sums, int64_t row, int rows, int64_t col, int tile_cols) {
  const Floats d;
  const Ints ints;
  const int64_t cols = std::min<int64_t>(tile_cols, p.result.cols - col);
  const float* bias = p.epilogue.bias ? p.epilogue.bias.as<float>() + col : nullptr;
  for (int r = 0; r < rows; ++r) {
    const auto row_scale = hn::Set(d, x.scales[row + r]);
    const auto zero = hn::Set(ints, x.zeros[row + r]);
    float* out = p.result.row<float>(row + r) + col;
    const int32_t* from = sums + r * tile_cols;
    over_vectors(cols, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
      const auto zero_correction = hn::Mul(zero, hn::LoadU(ints, w.sums.data() + col + j));
      const auto sum = hn::ConvertTo(d, hn::Sub(hn::LoadU(ints, from + j), zero_correction));
      const auto factor = hn::Mul(row_scale, hn::LoadU(d, w.scales.data() + col + j));
      auto v = bias ? hn::MulAdd(sum, factor, load(bias + j)) : hn::Mul(sum, factor);
      if (p.epilogue.relu) v = hn::Max(v, hn::Zero(d));
      store(v, out + j);
    });
  }
}

/// Computes rows [row0, row1) and columns [col0, col1) of a product.
void multiply_int8_block(const kernel::Matmul& p, const Int8Panels& w, const Int8Rows& x,
                         const int64_t block[4]) {
  HWY_ALIGN int32_t sums[12 * 32];
  const Int8Kernel& kernel = w.kernel;
  for (int64_t col = block[2]; col < block[3]; col += kernel.tile_cols) {
    const int32_t* panel = w.data + col * x.groups;
    for (int64_t row = block[0]; row < block[1]; row += kernel.tile_rows) {
      const int rows = static_cast<int>(std::min<int64_t>(kernel.tile_rows, block[1] - row));
      kernel.tile(x, row, rows, panel, sums);
      finish_sums(p, x, w, sums, row, rows, col, kernel.tile_cols);
    }
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(pairs_kernel);
HWY_EXPORT(quantize_rows);
HWY_EXPORT(multiply_int8_block);

/// Copies one output channel of a weight into its panel.
void pack_channel(const int8_t* channel, int64_t k, const Int8Kernel& kernel, int32_t* to) {
  int64_t begin = 0;
  if (!kernel.pairs)
    for (; begin + 4 <= k; begin += 4, to += kernel.tile_cols) {
      uint32_t quad;
      std::memcpy(&quad, channel + begin, sizeof quad);
      *to = static_cast<int32_t>(quad ^ 0x80808080u);  // + 128, unsigned
    }
  for (int64_t i = begin; i < k; i += kernel.group_size(), to += kernel.tile_cols) {
    int8_t quad[4] = {};
    int16_t pair[2] = {};
    for (int64_t j = 0; j < std::min<int64_t>(kernel.group_size(), k - i); ++j)
      if (kernel.pairs)
        pair[j] = channel[i + j];
      else
        quad[j] = static_cast<int8_t>(static_cast<uint8_t>(channel[i + j]) ^ 0x80u);  // + 128, unsigned
    std::memcpy(to, kernel.pairs ? static_cast<const void*>(pair) : quad, sizeof(int32_t));
  }
}

}  // namespace

Int8Kernel int8_pairs_kernel() { return HWY_DYNAMIC_DISPATCH(pairs_kernel)(); }

Int8Kernel best_int8_kernel() {
  const Int8Kernel vnni = int8_vnni_kernel();
  return vnni.tile ? vnni : int8_pairs_kernel();
}

std::shared_ptr<PackedWeight> pack_int8(View b, const Int8Kernel& kernel) {
  auto weight = std::make_shared<Int8Panels>();
  weight->kernel = kernel;
  weight->k = b.cols;
  weight->n = b.rows;
  const int64_t cols = kernel.tile_cols, whole = round_up(b.rows, cols), groups = weight->groups();
  weight->data = reinterpret_cast<int32_t*>(weight->memory.floats(whole * groups));
  std::fill_n(weight->data, whole * groups, 0);
  weight->scales.assign(static_cast<size_t>(whole), 0.0f);
  std::copy_n(b.scales.data, b.rows, weight->scales.begin());
  weight->sums.assign(static_cast<size_t>(whole), 0);
  for (int64_t n = 0; n < b.rows; ++n)
    weight->sums[static_cast<size_t>(n)] =
        std::accumulate(b.row<int8_t>(n), b.row<int8_t>(n) + b.cols, int32_t{0});
  for (int64_t n = 0; n < b.rows; ++n)
    pack_channel(b.row<int8_t>(n), b.cols, kernel, weight->data + n / cols * cols * groups + n % cols);
  return weight;
}

void CpuBackend::matmul_int8(const kernel::Matmul& p, const Int8Panels& weight) {
  const int64_t m = p.result.rows, n = p.result.cols, groups = weight.groups();
  if (m == 0 || n == 0) return;
  const SubnormalsAsZero mode;
  int32_t* data = reinterpret_cast<int32_t*>(shared_scratch_.floats(m * (groups + 3)));
  int32_t *start = data + m * groups, *zeros = start + m;
  float* scales = reinterpret_cast<float*>(zeros + m);
  split(m, 2 * p.a.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(quantize_rows)
    (p.a, begin, end, weight.kernel.pairs, groups, data, scales, zeros, start);
  });
  const Int8Rows rows{data, scales, zeros, start, groups};
  const int64_t width = weight.kernel.tile_cols, panels = (n + width - 1) / width;
  // With few rows, reading the weight takes most of the time.
  split(panels, std::max<int64_t>(m, 4) * width * groups / 8, [&](int64_t begin, int64_t end, int) {
    const int64_t block[4] = {0, m, begin * width, std::min(n, end * width)};
    HWY_DYNAMIC_DISPATCH(multiply_int8_block)(p, weight, rows, block);
  });
}

}  // namespace sixfold
#endif
