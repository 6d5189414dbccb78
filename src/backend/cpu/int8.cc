#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/int8.cc"
#include "backend/cpu/int8.h"

#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "backend/cpu/int8_pairs.h"
#include "backend/cpu/simd.h"
#include "base/bf16.h"
#include "base/error.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

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

/// Returns the total of earlier groups plus the sums of a group, scaled. `header`: of the weight's group.
/// `scale`, `x_sum`: of the row's group.
template <int bits>
HWY_INLINE Vector add_scaled(Vector total, hn::Vec<Ints> sums, const int32_t* header, float scale,
                             float x_sum) {
  const Ints d;
  const Floats floats;
  auto factor = hn::Set(floats, scale);
  if constexpr (bits == 4) {
    const auto both = hn::LoadU(d, header);
    factor = hn::Mul(factor, hn::BitCast(floats, hn::ShiftLeft<16>(both)));
    total =
        hn::MulAdd(hn::Set(floats, x_sum), hn::BitCast(floats, hn::AndNot(hn::Set(d, 0xFFFF), both)), total);
  }
  return hn::MulAdd(factor, hn::ConvertTo(floats, sums), total);
}

/// Stores results of a row, those of the tile's columns from `column` on, given their sums.
HWY_INLINE void store_results(Vector sums, const Int8Results& results, int row, int column) {
  const Floats d;
  const int64_t count = results.columns - column;
  if (count <= 0) return;
  const auto factor = hn::LoadU(d, results.scales + column);
  auto values = hn::Mul(sums, factor);
  if (const float* bias = results.bias)
    values = hn::MulAdd(sums, factor,
                        count >= lanes ? hn::LoadU(d, bias + column) : load_first(bias + column, count));
  if (results.relu) values = hn::Max(values, hn::Zero(d));
  float* to = results.to + row * results.stride + column;
  if (count >= lanes)
    hn::StoreU(values, d, to);
  else
    store_first(values, to, count);
}

/// Products with steps of two int16.
struct Pairs {
  static constexpr int max_rows = (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM) ? 12 : 6;
  static constexpr int columns = 2 * lanes, step_size = 2;
  /// Words by which the weight is fetched into the cache before it is used.
  static constexpr int prefetched_words = 64;

  template <int bits, int rows>
  HWY_NOINLINE static void tile(const Int8Rows& x, int64_t first_row, const int32_t* panel,
                                const Int8Results& results) {
    constexpr Int8Layout layout{bits, step_size};
    const Ints d;
    const int64_t groups = layout.groups(x.k), stride = layout.row_stride(x.k);
    const int32_t *from = x.data + first_row * stride, *headers = from + groups * layout.row_words();
    HWY_ALIGN float totals[rows * columns] = {};
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
      for (int r = 0; r < rows; ++r, scale += groups, x_sum += groups)
        for (const int c : {0, lanes}) {
          float* const at = totals + r * columns + c;
          const auto total =
              add_scaled<bits>(hn::Load(Floats(), at), c ? sum1[r] : sum0[r], header + c, *scale, *x_sum);
          if (g + 1 < groups)
            hn::Store(total, Floats(), at);
          else
            store_results(total, results, r, c);
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
  const auto nearest = std::bit_cast<int32_t>(range.lowest * steps + to_integer) - to_integer_bits;
  return {steps, size / count, bits == 8 ? -128 - nearest : 0};
}

/// Rounds the values of a group, stores them as type T, int8_t or int16_t, and returns their sum.
template <class T>
HWY_INLINE int32_t round_values(const float* from, int64_t count, const Rounding& rounding, T* to) {
  const Floats d;
  const Ints ints;
  const hn::Rebind<std::make_unsigned_t<T>, Floats> small;
  const auto steps = hn::Set(d, rounding.steps), shift = hn::Set(d, to_integer);
  const auto zero = hn::Set(ints, rounding.zero - to_integer_bits), highest = hn::Set(ints, 127);
  const auto rounded = [&](Vector v) HWY_ATTR {
    return hn::Min(hn::Add(hn::BitCast(ints, hn::Add(hn::Mul(v, steps), shift)), zero), highest);
  };
  const auto store = [&](hn::Vec<Ints> whole, T* place) HWY_ATTR {
    hn::StoreU(hn::TruncateTo(small, hn::BitCast(Words(), whole)), small,
               reinterpret_cast<std::make_unsigned_t<T>*>(place));
  };
  auto sum = hn::Zero(ints);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto whole = rounded(hn::LoadU(d, from + i));
    sum = hn::Add(sum, whole);
    store(whole, to + i);
  }
  if (const int64_t rest = count - i; rest > 0) {
    const auto whole = rounded(load_first(from + i, rest));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(ints, static_cast<size_t>(rest)), whole));
    T few[lanes];
    store(whole, few);
    std::memcpy(to + i, few, sizeof(T) * static_cast<size_t>(rest));
  }
  return hn::GetLane(hn::SumOfLanes(ints, sum));
}

/// Rounds rows [begin, end) of x [., k] to int8, group by group (Int8Rows). The ranges of several groups are
/// found before these are rounded, so that the steps of one do not wait for those of another.
void quantize_rows(const View& x, int64_t begin, int64_t end, Int8Layout layout, int32_t* data, float* scales,
                   float* sums) {
  constexpr int64_t at_once = 8;
  const int64_t groups = layout.groups(x.cols), size = layout.group();
  Rounding roundings[at_once];
  for (int64_t r = begin; r < end; ++r) {
    int32_t *words = data + r * layout.row_stride(x.cols), *header = words + groups * layout.row_words();
    for (int64_t first = 0; first < groups; first += at_once) {
      const int64_t some = std::min(at_once, groups - first);
      const float* from = x.row<float>(r) + first * size;
      const auto columns = [&](int64_t g) { return std::min(size, x.cols - (first + g) * size); };
      for (int64_t g = 0; g < some; ++g)
        roundings[g] = rounding_of(value_range(from + g * size, columns(g)), layout.bits);
      for (int64_t g = 0; g < some; ++g, words += layout.row_words()) {
        const Rounding& rounding = roundings[g];
        const int64_t count = columns(g);
        if (count < size || rounding.steps == 0) std::fill_n(words, layout.row_words(), 0);
        int32_t total = 0;
        if (rounding.steps != 0)
          total = layout.step_size == 2
                      ? round_values(from + g * size, count, rounding, reinterpret_cast<int16_t*>(words))
                      : round_values(from + g * size, count, rounding, reinterpret_cast<int8_t*>(words));
        const int16_t pair[] = {static_cast<int16_t>(-rounding.zero), static_cast<int16_t>(total)};
        std::memcpy(header + first + g, pair, sizeof pair);
        scales[r * groups + first + g] = rounding.scale;
        sums[r * groups + first + g] = rounding.scale * static_cast<float>(total);
      }
    }
  }
}

/// Computes rows [row0, row1) and columns [col0, col1) of a product.
void multiply_int8_block(const kernel::Matmul& p, const Int8Panels& w, const Int8Rows& x,
                         const int64_t block[4]) {
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
        const int64_t columns = std::min<int64_t>(kernel.tile_cols, p.result.cols - col);
        w.tile()(x, row, rows, w.data + col * w.words(),
                 {.scales = w.scales.data() + col,
                  .bias = p.epilogue.bias ? p.epilogue.bias.as<float>() + col : nullptr,
                  .relu = p.epilogue.relu,
                  .to = p.result.row<float>(row) + col,
                  .stride = p.result.stride,
                  .columns = static_cast<int>(columns)});
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

/// Rounds the rows of x to int8, in the shared scratch memory. There is room for a multiple of `tile_rows`
/// rows.
Int8Rows CpuBackend::rounded_rows(const View& x, const Int8Layout& layout, int tile_rows) {
  const int64_t groups = x.rows * layout.groups(x.cols),
                words = round_up(x.rows, tile_rows) * layout.row_stride(x.cols);
  float* memory = shared_scratch_.floats(words + 2 * groups);
  int32_t* data = reinterpret_cast<int32_t*>(memory);
  float *scales = memory + words, *sums = scales + groups;
  split(x.rows, 2 * x.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(quantize_rows)(x, begin, end, layout, data, scales, sums);
  });
  return {data, scales, sums, x.cols};
}

void CpuBackend::matmul_int8(const kernel::Matmul& p, const Int8Panels& weight) {
  const int64_t m = p.result.rows, n = p.result.cols;
  if (m == 0 || n == 0) return;
  const SubnormalsAsZero mode;
  const Int8Rows rows = rounded_rows(p.a, weight.layout, weight.kernel.tile_rows);
  const int64_t width = weight.kernel.tile_cols, panels = (n + width - 1) / width;
  // With few rows, reading the weight takes most of the time.
  split(panels, std::max<int64_t>(m, 4) * width * weight.words() / 8, [&](int64_t begin, int64_t end, int) {
    const int64_t block[4] = {0, m, begin * width, std::min(n, end * width)};
    HWY_DYNAMIC_DISPATCH(multiply_int8_block)(p, weight, rows, block);
  });
}

}  // namespace sixfold
#endif
