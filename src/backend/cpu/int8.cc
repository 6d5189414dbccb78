#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/int8.cc"
#include "backend/cpu/int8.h"

#include <hwy/foreach_target.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

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

/// Elements [2 * step, 2 * step + 2) of each word of a weight, as int16.
template <int bits, int step>
HWY_INLINE hn::Vec<Ints> elements_of(const int32_t* words) {
  const Ints d;
  const auto all = hn::LoadU(d, words);
  if constexpr (bits == 8) return all;
  return hn::And(hn::ShiftRight<step * 4>(all), hn::Set(d, 0x000F000F));
}

/// Adds the products of step `step` of a word. `x`: the pair of the first row.
template <int bits, int step, int rows>
HWY_INLINE void add_step(const int32_t* x, int64_t stride, const int32_t* words, hn::Vec<Ints> (&sum0)[rows],
                         hn::Vec<Ints> (&sum1)[rows]) {
  const auto w0 = elements_of<bits, step>(words), w1 = elements_of<bits, step>(words + lanes);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const auto pair = hn::Set(Ints(), x[r * stride]);
    sum0[r] = add_pairs(pair, w0, sum0[r]);
    sum1[r] = add_pairs(pair, w1, sum1[r]);
  }
}

/// sums [rows, pair_cols] = rows of x times the words of a group. A function of its own, so that all sums stay
/// in registers.
template <int bits, int rows>
HWY_NOINLINE void multiply_group(const int32_t* x, int64_t stride, const int32_t* panel, int64_t words,
                                 int32_t* sums) {
  const Ints d;
  hn::Vec<Ints> sum0[rows], sum1[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    sum0[r] = sum1[r] = hn::Zero(d);
    if (bits == 4) continue;
    const auto header = hn::Set(d, x[r * stride]);
    sum0[r] = add_pairs(header, hn::LoadU(d, panel), sum0[r]);
    sum1[r] = add_pairs(header, hn::LoadU(d, panel + lanes), sum1[r]);
  }
  ++x, panel += pair_cols;
  for (int64_t w = 0; w < words; ++w, panel += pair_cols) {
    add_step<bits, 0>(x++, stride, panel, sum0, sum1);
    if constexpr (bits == 4) {
      add_step<bits, 1>(x++, stride, panel, sum0, sum1);
      add_step<bits, 2>(x++, stride, panel, sum0, sum1);
      add_step<bits, 3>(x++, stride, panel, sum0, sum1);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    hn::StoreU(sum0[r], d, sums + r * pair_cols);
    hn::StoreU(sum1[r], d, sums + r * pair_cols + lanes);
  }
}

/// Adds the sums of group `g`, scaled, to totals [rows, pair_cols]. `header`: of the weight's group.
template <int bits, int rows>
HWY_INLINE void add_group(const Int8Rows& x, int64_t first_row, int64_t groups, int64_t g, const int32_t* sums,
                          const int32_t* header, float* totals) {
  const Ints d;
  const Floats floats;
  for (int c = 0; c < pair_cols; c += lanes) {
    const auto both = hn::LoadU(d, header + c);
    const auto weight_scale = hn::BitCast(floats, hn::ShiftLeft<16>(both)),
               weight_offset = hn::BitCast(floats, hn::AndNot(hn::Set(d, 0xFFFF), both));
    for (int r = 0; r < rows; ++r) {
      const int64_t i = (first_row + r) * groups + g;
      float* to = totals + r * pair_cols + c;
      const auto sum = hn::ConvertTo(floats, hn::LoadU(d, sums + r * pair_cols + c));
      auto scale = hn::Set(floats, x.scales[i]), total = hn::LoadU(floats, to);
      if (bits == 4) {
        scale = hn::Mul(scale, weight_scale);
        total = hn::MulAdd(hn::Set(floats, x.sums[i]), weight_offset, total);
      }
      hn::StoreU(hn::MulAdd(scale, sum, total), floats, to);
    }
  }
}

template <int bits, int rows>
void multiply_pairs(const Int8Rows& x, int64_t first_row, const int32_t* panel, float* totals) {
  constexpr Int8Layout layout{bits, 2};
  const int64_t groups = layout.groups(x.k), stride = groups * layout.row_words();
  const int32_t* a = x.data + first_row * stride;
  HWY_ALIGN int32_t sums[rows * pair_cols];
  std::fill_n(totals, rows * pair_cols, 0.0f);
  for (int64_t g = 0; g < groups; ++g, a += layout.row_words()) {
    const int64_t words = layout.weight_words(std::min<int64_t>(layout.group(), x.k - g * layout.group()));
    multiply_group<bits, rows>(a, stride, panel, words, sums);
    add_group<bits, rows>(x, first_row, groups, g, sums, panel, totals);
    panel += pair_cols * (1 + words);
  }
}

template <int bits>
void multiply_pairs_tile(const Int8Rows& x, int64_t first_row, int rows, const int32_t* panel, float* sums) {
  static constexpr void (*by_rows[])(const Int8Rows&, int64_t, const int32_t*, float*) = {
    multiply_pairs<bits, 1>,
    multiply_pairs<bits, 2>,
    multiply_pairs<bits, 3>,
    multiply_pairs<bits, 4>,
    multiply_pairs<bits, 5>,
    multiply_pairs<bits, 6>,
#if (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM)
    multiply_pairs<bits, 7>,
    multiply_pairs<bits, 8>,
    multiply_pairs<bits, 9>,
    multiply_pairs<bits, 10>,
    multiply_pairs<bits, 11>,
    multiply_pairs<bits, 12>,
#endif
  };
  by_rows[rows - 1](x, first_row, panel, sums);
}

Int8Kernel pairs_kernel() { return {pair_rows, pair_cols, 2, multiply_pairs_tile<8>, multiply_pairs_tile<4>}; }

/// The range of the values of a group and zero. `finite`: whether all of them are finite.
struct ValueRange {
  float lowest, highest;
  bool finite;
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
  const auto largest = hn::BitCast(ints, hn::Set(d, std::numeric_limits<float>::max()));
  if (!hn::AllFalse(ints, hn::Gt(max_bits, largest))) return {0, 0, false};
  return {hn::GetLane(hn::MinOfLanes(d, low)), max_lanes(high), true};
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

/// How the values of a group are rounded: to round(x * steps) + zero.
struct Rounding {
  float steps, scale;
  int32_t zero;
};

/// 256 values, of which zero is one, distributed evenly over a range; or, for weights of 4 bits, 255 values
/// around zero. If the step between two values would not be a normal number, the range is taken to be zero.
Rounding rounding_of(const ValueRange& range, int bits) {
  constexpr float smallest = 256 * std::numeric_limits<float>::min();
  if (!range.finite) return {0, std::numeric_limits<float>::quiet_NaN(), 0};
  const float size = bits == 8 ? range.highest - range.lowest : 2 * std::max(range.highest, -range.lowest),
              count = bits == 8 ? 255.0f : 254.0f;
  if (!(size <= std::numeric_limits<float>::max())) return {0, size, 0};
  if (size < smallest) return {0, 0, 0};
  const float steps = count / size;
  return {steps, size / count,
          bits == 8 ? -128 - static_cast<int32_t>(std::nearbyint(range.lowest * steps)) : 0};
}

/// Rounds rows [begin, end) of x [., k] to int8, group by group (Int8Rows).
void quantize_rows(const View& x, int64_t begin, int64_t end, Int8Layout layout, int32_t* data, float* scales,
                   float* sums) {
  const Floats d;
  const Ints ints;
  const int64_t groups = layout.groups(x.cols);
  for (int64_t i = begin * groups; i < end * groups; ++i) {
    const int64_t column = i % groups * layout.group(),
                  count = std::min<int64_t>(layout.group(), x.cols - column);
    const float* from = x.row<float>(i / groups) + column;
    const Rounding rounding = rounding_of(value_range(from, count), layout.bits);
    int32_t* words = data + i * layout.row_words();
    scales[i] = rounding.scale;
    sums[i] = rounding.scale * 0;
    if (count < layout.group() || rounding.steps == 0) std::fill_n(words, layout.row_words(), 0);
    if (rounding.steps == 0) continue;
    const auto steps = hn::Set(d, rounding.steps);
    const auto zero = hn::Set(ints, rounding.zero);
    auto sum = hn::Zero(ints);
    for (int64_t c = 0; c < count; c += lanes) {
      const int64_t n = std::min<int64_t>(lanes, count - c);
      const auto v = n == lanes ? hn::LoadU(d, from + c) : load_first(from + c, n);
      auto whole = hn::NearestInt(hn::Mul(v, steps));
      whole = hn::Min(hn::Add(whole, zero), hn::Set(ints, 127));
      sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(ints, static_cast<size_t>(n)), whole));
      if (layout.step_size == 2)
        store_small(whole, n, reinterpret_cast<int16_t*>(words + 1) + c);
      else
        store_small(whole, n, reinterpret_cast<int8_t*>(words + 1) + c);
    }
    const int32_t total = hn::GetLane(hn::SumOfLanes(ints, sum));
    const int16_t header[] = {static_cast<int16_t>(-rounding.zero), static_cast<int16_t>(total)};
    std::memcpy(words, header, sizeof header);
    sums[i] = rounding.scale * static_cast<float>(total);
  }
}

/// Converts the sums of a tile to results: applies the scales of the weight, bias, and ReLU.
HWY_INLINE void finish_sums(const kernel::Matmul& p, const Int8Panels& w, const float* sums, int64_t row,
                            int rows, int64_t col, int tile_cols) {
  const Floats d;
  const int64_t cols = std::min<int64_t>(tile_cols, p.result.cols - col);
  const float* bias = p.epilogue.bias ? p.epilogue.bias.as<float>() + col : nullptr;
  for (int r = 0; r < rows; ++r) {
    float* out = p.result.row<float>(row + r) + col;
    const float* from = sums + r * tile_cols;
    over_vectors(cols, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
      const auto sum = hn::LoadU(d, from + j), factor = hn::LoadU(d, w.scales.data() + col + j);
      auto v = bias ? hn::MulAdd(sum, factor, load(bias + j)) : hn::Mul(sum, factor);
      if (p.epilogue.relu) v = hn::Max(v, hn::Zero(d));
      store(v, out + j);
    });
  }
}

/// Computes rows [row0, row1) and columns [col0, col1) of a product.
void multiply_int8_block(const kernel::Matmul& p, const Int8Panels& w, const Int8Rows& x,
                         const int64_t block[4]) {
  HWY_ALIGN float sums[12 * 32];
  const Int8Kernel& kernel = w.kernel;
  for (int64_t col = block[2]; col < block[3]; col += kernel.tile_cols) {
    const int32_t* panel = w.data + col * w.words();
    for (int64_t row = block[0]; row < block[1]; row += kernel.tile_rows) {
      const int rows = static_cast<int>(std::min<int64_t>(kernel.tile_rows, block[1] - row));
      w.tile()(x, row, rows, panel, sums);
      finish_sums(p, w, sums, row, rows, col, kernel.tile_cols);
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

/// The word of a weight's numbers, whose elements are at the bits that `Int8Kernel` describes.
template <int bits, int step_size>
int32_t word_of(const int8_t* numbers) {
  uint32_t word = 0;
  if constexpr (step_size == 4) {
    std::memcpy(&word, numbers, 4);
    if constexpr (bits == 8) return static_cast<int32_t>(word ^ 0x80808080u);  // + 128
    uint32_t second;
    std::memcpy(&second, numbers + 4, 4);
    return static_cast<int32_t>(word | second << 4);
  }
  for (int i = 0; i < (bits == 8 ? 2 : 8); ++i)
    word |= uint32_t{static_cast<uint16_t>(numbers[i])} << (i % 2 * 16 + i / 2 * 4);
  return static_cast<int32_t>(word);
}

template <int bits, int step_size>
void pack_numbers(std::span<const int8_t> numbers, int64_t tile_cols, int32_t* to) {
  constexpr size_t in_word = Int8Layout{bits, step_size}.in_word();
  size_t i = 0;
  for (; i + in_word <= numbers.size(); i += in_word, to += tile_cols)
    *to = word_of<bits, step_size>(numbers.data() + i);
  if (i == numbers.size()) return;
  int8_t last[in_word] = {};  // activations beyond the last number are zero
  std::copy(numbers.begin() + static_cast<std::ptrdiff_t>(i), numbers.end(), last);
  *to = word_of<bits, step_size>(last);
}

/// Copies one output channel of a weight into its panel. `scales`: of the channel's groups, for 4 bits.
void pack_channel(const int8_t* channel, const float* scales, const Int8Panels& weight, int32_t* to) {
  const Int8Layout& layout = weight.layout;
  const auto numbers = layout.bits == 8 ? (layout.step_size == 4 ? pack_numbers<8, 4> : pack_numbers<8, 2>)
                                        : (layout.step_size == 4 ? pack_numbers<4, 4> : pack_numbers<4, 2>);
  const int64_t cols = weight.kernel.tile_cols;
  for (int64_t begin = 0; begin < weight.k; begin += layout.group()) {
    const std::span group(channel + begin,
                          static_cast<size_t>(std::min<int64_t>(layout.group(), weight.k - begin)));
    if (layout.bits == 8) {
      const auto sum = static_cast<uint16_t>(std::accumulate(group.begin(), group.end(), int32_t{0}));
      const auto correction = static_cast<uint16_t>(layout.step_size == 4 ? -128 : 0);
      *to = static_cast<int32_t>(sum | uint32_t{correction} << 16);
    } else {
      const float* both = scales + 2 * (begin / layout.group());
      *to = static_cast<int32_t>(std::bit_cast<uint32_t>(both[0]) >> 16 |
                                 (std::bit_cast<uint32_t>(both[1]) & 0xFFFF0000u));
    }
    numbers(group, cols, to + cols);
    to += cols * (1 + layout.weight_words(std::ssize(group)));
  }
}

}  // namespace

Int8Kernel int8_pairs_kernel() { return HWY_DYNAMIC_DISPATCH(pairs_kernel)(); }

Int8Kernel best_int8_kernel() {
  const Int8Kernel vnni = int8_vnni_kernel();
  return vnni.eight_bits ? vnni : int8_pairs_kernel();
}

std::shared_ptr<PackedWeight> pack_int8(View b, const Int8Kernel& kernel) {
  auto weight = std::make_shared<Int8Panels>();
  weight->kernel = kernel;
  weight->layout = {b.bits(), kernel.step_size};
  weight->k = b.cols;
  weight->n = b.rows;
  const int64_t cols = kernel.tile_cols, whole = round_up(b.rows, cols), words = weight->words();
  weight->data = reinterpret_cast<int32_t*>(weight->memory.floats(whole * words));
  std::fill_n(weight->data, whole * words, 0);
  weight->scales.assign(static_cast<size_t>(whole), 0.0f);
  const int64_t scales = b.rows ? b.scales.size / b.rows : 0;  // of each row
  for (int64_t n = 0; n < b.rows; ++n) {
    weight->scales[static_cast<size_t>(n)] = b.bits() == 8 ? b.scales.data[n] : 1;
    pack_channel(b.row<int8_t>(n), b.scales.data + n * scales, *weight,
                 weight->data + n / cols * cols * words + n % cols);
  }
  return weight;
}

void CpuBackend::matmul_int8(const kernel::Matmul& p, const Int8Panels& weight) {
  const int64_t m = p.result.rows, n = p.result.cols;
  if (m == 0 || n == 0) return;
  const SubnormalsAsZero mode;
  const Int8Layout& layout = weight.layout;
  const int64_t groups = m * layout.groups(weight.k);
  float* scales = shared_scratch_.floats(groups * (2 + layout.row_words()));
  float* sums = scales + groups;
  int32_t* data = reinterpret_cast<int32_t*>(sums + groups);
  split(m, 2 * p.a.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(quantize_rows)(p.a, begin, end, layout, data, scales, sums);
  });
  const Int8Rows rows{data, scales, sums, weight.k};
  const int64_t width = weight.kernel.tile_cols, panels = (n + width - 1) / width;
  // With few rows, reading the weight takes most of the time.
  split(panels, std::max<int64_t>(m, 4) * width * weight.words() / 8, [&](int64_t begin, int64_t end, int) {
    const int64_t block[4] = {0, m, begin * width, std::min(n, end * width)};
    HWY_DYNAMIC_DISPATCH(multiply_int8_block)(p, weight, rows, block);
  });
}

}  // namespace sixfold
#endif
