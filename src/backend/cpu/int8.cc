#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/int8.cc"
#include "backend/cpu/int8.h"

#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "backend/cpu/simd.h"
#include "base/bf16.h"
#include "base/error.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

using Ints = hn::RebindToSigned<Words>;

/// Adds the two products of a group of int16 pairs to `sum`.
HWY_INLINE hn::Vec<Ints> add_pairs(hn::Vec<Ints> a, hn::Vec<Ints> b, hn::Vec<Ints> sum) {
#if HWY_TARGET == HWY_AVX2
  // One statement, since compilers first compute the products of several rows, which need more registers than
  // there are.
  __m256i product;
  asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum.raw), "=&x"(product) : "x"(a.raw), "x"(b.raw));
  return sum;
#elif HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
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
  return hn::And(hn::ShiftRight<step * bits>(hn::LoadU(d, words)), hn::Set(d, 0x00010001 * ((1 << bits) - 1)));
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

/// Adds the sums of a group to totals; of the `first` group overwrites these. `header`: of the weight's group.
/// `scale`, `x_sum`: of the row's group.
template <int bits>
HWY_INLINE void add_scaled(hn::Vec<Ints> sums, const int32_t* header, float scale, float x_sum, bool first,
                           float* totals) {
  const Ints d;
  const Floats floats;
  auto factor = hn::Set(floats, scale), total = first ? hn::Zero(floats) : hn::LoadU(floats, totals);
  if constexpr (bits == 4) {
    const auto both = hn::LoadU(d, header);
    factor = hn::Mul(factor, hn::BitCast(floats, hn::ShiftLeft<16>(both)));
    total =
        hn::MulAdd(hn::Set(floats, x_sum), hn::BitCast(floats, hn::AndNot(hn::Set(d, 0xFFFF), both)), total);
  }
  hn::StoreU(hn::MulAdd(factor, hn::ConvertTo(floats, sums), total), floats, totals);
}

/// Products with steps of two int16.
struct Pairs {
  static constexpr int max_rows = (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM) ? 12 : 6;
  static constexpr int columns = 2 * lanes, step_size = 2;
  /// Words by which the weight is fetched into the cache before it is used.
  static constexpr int prefetched_words = 64;

  template <int bits, int rows>
  HWY_NOINLINE static void tile(const Int8Rows& x, int64_t first_row, const int32_t* panel, float* totals) {
    constexpr Int8Layout layout{bits, step_size};
    const Ints d;
    const int64_t groups = layout.groups(x.k), stride = layout.row_stride(x.k);
    const int32_t *from = x.data + first_row * stride, *headers = from + groups * layout.row_words();
    for (int64_t g = 0; g < groups; ++g, ++headers) {
      const int64_t words = layout.weight_words(x.k, g);
      const int32_t* const header = panel;
      const int32_t* const next = from + layout.row_words();
      hn::Vec<Ints> sum0[rows], sum1[rows];
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) sum0[r] = sum1[r] = hn::Zero(d);
      if constexpr (bits == 8) {
        const auto h0 = hn::LoadU(d, header), h1 = hn::LoadU(d, header + lanes);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
          const auto pair = hn::Set(d, headers[r * stride]);
          sum0[r] = add_pairs(pair, h0, sum0[r]);
          sum1[r] = add_pairs(pair, h1, sum1[r]);
        }
      }
      panel += columns;
      for (const int32_t* const end = panel + words * columns; panel != end; panel += columns) {
        if constexpr (rows < max_rows / 2)  // with few rows, reading the weight takes most of the time
          for (int c = 0; c < columns; c += 16) hwy::Prefetch(panel + prefetched_words * columns + c);
        add_step<bits, 0>(from++, stride, panel, sum0, sum1);
        add_step<bits, 1>(from++, stride, panel, sum0, sum1);
        if constexpr (bits == 4) {
          add_step<bits, 2>(from++, stride, panel, sum0, sum1);
          add_step<bits, 3>(from++, stride, panel, sum0, sum1);
        }
      }
      from = next;
      const float *scale = x.scales + first_row * groups + g, *x_sum = x.sums + first_row * groups + g;
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r, scale += groups, x_sum += groups) {
        add_scaled<bits>(sum0[r], header, *scale, *x_sum, g == 0, totals + r * columns);
        add_scaled<bits>(sum1[r], header + lanes, *scale, *x_sum, g == 0, totals + r * columns + lanes);
      }
    }
  }
};

Int8Kernel pairs_kernel() { return int8_kernel<Pairs>("pairs of int16"); }

/// The range of the values of a group and zero. `finite`: whether all of them are finite.
struct ValueRange {
  float lowest, highest;
  bool finite;
};
HWY_INLINE ValueRange value_range(const float* x, int64_t n) {
  const Floats d;
  const auto zero = hn::Zero(d);
  auto low = zero, high = zero, products = zero;  // zero times a value that is not finite is NaN
  over_vectors(n, [&](int64_t i, const auto& load, const auto&) HWY_ATTR {
    const auto v = load(x + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
    products = hn::MulAdd(v, zero, products);
  });
  if (!hn::AllTrue(d, hn::Eq(products, zero))) return {0, 0, false};
  return {hn::GetLane(hn::MinOfLanes(d, low)), max_lanes(high), true};
}

/// How the values of a group are rounded: to round(x * steps) + zero.
struct Rounding {
  float steps, scale;
  int32_t zero;
};

/// 256 values, of which zero is one, distributed evenly over a range; or, for weights of 4 bits, 255 values
/// around zero. If the step between two values would not be a normal number, the range is taken to be zero.
HWY_INLINE Rounding rounding_of(const ValueRange& range, int bits) {
  constexpr float smallest = 256 * std::numeric_limits<float>::min();
  if (!range.finite) return {0, std::numeric_limits<float>::quiet_NaN(), 0};
  const float size = bits == 8 ? range.highest - range.lowest : 2 * std::max(range.highest, -range.lowest),
              count = bits == 8 ? 255.0f : 254.0f;
  if (!(size <= std::numeric_limits<float>::max())) return {0, size, 0};
  if (size < smallest) return {0, 0, 0};
  const float steps = count / size;
  return {steps, size / count,
          bits == 8 ? -128 - hn::GetLane(hn::NearestInt(hn::Set(Floats(), range.lowest * steps))) : 0};
}

/// Rounds the values of a group, stores them as type T, and returns their sum.
template <class T>
HWY_INLINE int32_t round_values(const float* from, int64_t count, const Rounding& rounding, T* to) {
  const Floats d;
  const Ints ints;
  const hn::Rebind<T, Floats> small;
  const auto steps = hn::Set(d, rounding.steps);
  const auto zero = hn::Set(ints, rounding.zero), highest = hn::Set(ints, 127);
  const auto rounded = [&](Vector v) HWY_ATTR {
    return hn::Min(hn::Add(hn::NearestInt(hn::Mul(v, steps)), zero), highest);
  };
  auto sum = hn::Zero(ints);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto whole = rounded(hn::LoadU(d, from + i));
    sum = hn::Add(sum, whole);
    hn::StoreU(hn::DemoteTo(small, whole), small, to + i);
  }
  if (const int64_t rest = count - i; rest > 0) {
    const auto whole = rounded(load_first(from + i, rest));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(ints, static_cast<size_t>(rest)), whole));
    HWY_ALIGN T few[lanes];
    hn::Store(hn::DemoteTo(small, whole), small, few);
    std::memcpy(to + i, few, sizeof(T) * static_cast<size_t>(rest));
  }
  return hn::GetLane(hn::SumOfLanes(ints, sum));
}

/// Rounds rows [begin, end) of x [., k] to int8, group by group (Int8Rows).
void quantize_rows(const View& x, int64_t begin, int64_t end, Int8Layout layout, int32_t* data, float* scales,
                   float* sums) {
  const int64_t groups = layout.groups(x.cols);
  for (int64_t r = begin; r < end; ++r) {
    int32_t *words = data + r * layout.row_stride(x.cols), *header = words + groups * layout.row_words();
    float *scale = scales + r * groups, *sum = sums + r * groups;
    for (int64_t column = 0; column < x.cols;
         column += layout.group(), words += layout.row_words(), ++header, ++scale, ++sum) {
      const float* from = x.row<float>(r) + column;
      const int64_t count = std::min<int64_t>(layout.group(), x.cols - column);
      const Rounding rounding = rounding_of(value_range(from, count), layout.bits);
      if (count < layout.group() || rounding.steps == 0) std::fill_n(words, layout.row_words(), 0);
      int32_t total = 0;
      if (rounding.steps != 0)
        total = layout.step_size == 2 ? round_values(from, count, rounding, reinterpret_cast<int16_t*>(words))
                                      : round_values(from, count, rounding, reinterpret_cast<int8_t*>(words));
      const int16_t pair[] = {static_cast<int16_t>(-rounding.zero), static_cast<int16_t>(total)};
      std::memcpy(header, pair, sizeof pair);
      *scale = rounding.scale;
      *sum = rounding.scale * static_cast<float>(total);
    }
  }
}

/// Converts the sums of a tile to results: applies the scales of the weight, bias, and ReLU.
HWY_INLINE void finish_sums(const kernel::Matmul& p, const Int8Panels& w, const float* sums, int64_t row,
                            int rows, int64_t col, int tile_cols) {
  const Floats d;
  const int64_t cols = std::min<int64_t>(tile_cols, p.result.cols - col);
  const float* bias = p.epilogue.bias ? p.epilogue.bias.as<float>() + col : nullptr;
  over_vectors(cols, [&](int64_t j, const auto& load, const auto& store) HWY_ATTR {
    const auto factor = hn::LoadU(d, w.scales.data() + col + j), offset = bias ? load(bias + j) : hn::Zero(d);
    for (int r = 0; r < rows; ++r) {
      const auto sum = hn::LoadU(d, sums + r * tile_cols + j);
      auto v = bias ? hn::MulAdd(sum, factor, offset) : hn::Mul(sum, factor);
      if (p.epilogue.relu) v = hn::Max(v, hn::Zero(d));
      store(v, p.result.row<float>(row + r) + col + j);
    }
  });
}

/// Computes rows [row0, row1) and columns [col0, col1) of a product.
void multiply_int8_block(const kernel::Matmul& p, const Int8Panels& w, const Int8Rows& x,
                         const int64_t block[4]) {
  HWY_ALIGN float sums[max_int8_tile];
  const Int8Kernel& kernel = w.kernel;
  const bool prepares = kernel.begin && w.layout.bits == 8 && block[1] - block[0] > kernel.few_rows;
  if (prepares) kernel.begin();
  // The panels of a block of columns stay in the second-level cache, from which they are read for each tile of
  // rows.
  constexpr int64_t block_words = int64_t{1} << 16;
  const int64_t width = std::max<int64_t>(block_words / w.words() / kernel.tile_cols, 1) * kernel.tile_cols;
  for (int64_t begin = block[2]; begin < block[3]; begin += width)
    for (int64_t row = block[0]; row < block[1]; row += kernel.tile_rows)
      for (int64_t col = begin; col < std::min(begin + width, block[3]); col += kernel.tile_cols) {
        const int rows = static_cast<int>(std::min<int64_t>(kernel.tile_rows, block[1] - row));
        w.tile()(x, row, rows, w.data + col * w.words(), sums);
        finish_sums(p, w, sums, row, rows, col, kernel.tile_cols);
      }
  if (prepares) kernel.end();
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
    if constexpr (bits == 4) {
      uint32_t second;
      std::memcpy(&second, numbers + 4, 4);
      word |= second << 4;
    }
  } else {
    for (int i = 0; i < 32 / bits; ++i)
      word |= uint32_t{static_cast<uint8_t>(numbers[i])} << (i % 2 * 16 + i / 2 * bits);
  }
  return static_cast<int32_t>(bits == 8 ? word ^ 0x80808080u : word);  // + 128
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
      constexpr auto correction = static_cast<uint16_t>(-128);
      *to = static_cast<int32_t>(sum | uint32_t{correction} << 16);
    } else {
      const float* both = scales + 2 * (begin / layout.group());
      *to = static_cast<int32_t>(to_bf16(both[0]) | uint32_t{to_bf16(both[1])} << 16);
    }
    numbers(group, cols, to + cols);
    to += cols * (1 + layout.weight_words(std::ssize(group)));
  }
}

}  // namespace

Int8Kernel int8_pairs_kernel() { return HWY_DYNAMIC_DISPATCH(pairs_kernel)(); }

Int8Kernel best_int8_kernel() {
  if (const Int8Kernel amx = int8_amx_kernel()) return amx;
  const Int8Kernel vnni = int8_vnni_kernel();
  return vnni ? vnni : int8_pairs_kernel();
}

std::shared_ptr<PackedWeight> pack_int8(View b, const Int8Kernel& kernel) {
  require(b.cols > 0, "a quantized weight has columns");
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
  const int64_t groups = m * layout.groups(weight.k),
                words = round_up(m, weight.kernel.tile_rows) * layout.row_stride(weight.k);
  float* memory = shared_scratch_.floats(words + 2 * groups);
  int32_t* data = reinterpret_cast<int32_t*>(memory);
  float *scales = memory + words, *sums = scales + groups;
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
