#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/listed_logits.cc"
#include <hwy/foreach_target.h>

#include "backend/cpu/int8.h"
#include "backend/cpu/int8_pairs.h"
#include "backend/cpu/simd.h"

// Logits of listed tokens, from the rows of an int8 weight as they lie in memory. Activations are rounded as
// for packed weights, but kept in pairs of int16 without their zeros. The sums of a group are exact, and are
// scaled and added up as for packed weights, so that the bits are the same.

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Subtracts the zeros of rows [begin, end) of activations in pairs of int16, which then are x / scale.
void subtract_zeros(const Int8Rows& x, int64_t begin, int64_t end) {
  constexpr Int8Layout layout{8, 2};
  const int64_t groups = layout.groups(x.k), stride = layout.row_stride(x.k);
  for (int64_t r = begin; r < end; ++r) {
    auto* values = const_cast<int16_t*>(reinterpret_cast<const int16_t*>(x.data + r * stride));
    const int32_t* headers = x.data + r * stride + groups * layout.row_words();
    for (int64_t g = 0; g < groups; ++g) {
      const auto minus_zero = static_cast<int16_t>(headers[g] & 0xFFFF);
      const int64_t first = g * layout.group(), count = std::min<int64_t>(layout.group(), x.k - first);
      for (int64_t i = first; i < first + count; ++i) values[i] = static_cast<int16_t>(values[i] + minus_zero);
    }
  }
}

/// Pairs of int16 of the int8 at `from`, of which there are `count`; zeros follow.
HWY_INLINE hn::Vec<Ints> widened(const int8_t* from, int64_t count) {
#if HWY_TARGET == HWY_SCALAR
  const auto word = [](int8_t x) { return uint32_t{static_cast<uint16_t>(int16_t{x})}; };
  return hn::Set(Ints(), static_cast<int32_t>(word(from[0]) | (count > 1 ? word(from[1]) << 16 : 0)));
#else
  const hn::Repartition<int16_t, Ints> pairs;
  const hn::Rebind<int8_t, hn::Repartition<int16_t, Ints>> bytes;
  if (count >= 2 * lanes) return hn::BitCast(Ints(), hn::PromoteTo(pairs, hn::LoadU(bytes, from)));
  HWY_ALIGN int8_t first[2 * lanes] = {};
  std::memcpy(first, from, static_cast<size_t>(count));
  return hn::BitCast(Ints(), hn::PromoteTo(pairs, hn::Load(bytes, first)));
#endif
}

/// Calls body(i, tag) for the vectors of four floats: i is the first lane's place. What is added to products is
/// rounded as in wider vectors, once or, without fused instructions, twice.
template <class Body>
HWY_INLINE void over_four(const Body& body) {
  const hn::CappedTag<float, 4> few;
  for (int i = 0; i < 4; i += static_cast<int>(hn::MaxLanes(few))) body(i, few);
}

/// Adds to totals[r][i] the scaled products of group g of `rows` rows of x and of four rows of the weight.
template <int rows>
HWY_INLINE void add_listed(const Int8Rows& x, int64_t first_row, int64_t g, const int8_t* const (&weights)[4],
                           float (&totals)[rows][4]) {
  constexpr Int8Layout layout{8, 2};
  const Ints d;
  const int64_t groups = layout.groups(x.k), stride = layout.row_stride(x.k);
  const int64_t begin = g * layout.group(), end = std::min<int64_t>(begin + layout.group(), x.k);
  hn::Vec<Ints> sums[rows][4];
  for (auto& of_row : sums)
    for (auto& sum : of_row) sum = hn::Zero(d);
  for (int64_t c = begin; c < end; c += 2 * lanes) {
    hn::Vec<Ints> w[4];
    for (int i = 0; i < 4; ++i) w[i] = widened(weights[i] + c, end - c);
    for (int r = 0; r < rows; ++r) {
      const auto pairs = hn::LoadU(d, x.data + (first_row + r) * stride + c / 2);
      for (int i = 0; i < 4; ++i) sums[r][i] = add_pairs(pairs, w[i], sums[r][i]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    int32_t exact[4];
    sum_lanes_of_four(d, sums[r], exact);
    const float scale = x.scales[(first_row + r) * groups + g];
    over_four([&](int i, auto few) HWY_ATTR {
      const auto scaled = hn::ConvertTo(few, hn::LoadU(hn::RebindToSigned<decltype(few)>(), exact + i));
      float* const total = totals[r] + i;
      hn::StoreU(hn::MulAdd(hn::Set(few, scale), scaled, hn::LoadU(few, total)), few, total);
    });
  }
}

/// The logits of `rows` adjacent rows for the tokens of a span.
template <int rows>
HWY_INLINE void multiply_listed(const kernel::ListedLogits& k, const AttentionSpan& span, const Int8Rows& x,
                                int64_t row) {
  constexpr int64_t prefetched = 8;  // tokens by which their weights are fetched into the cache before
  const int64_t groups = Int8Layout{8, 2}.groups(x.k);
  for (int64_t j = 0; j < span.key_count; j += 4) {
    int32_t ids[4];
    const int8_t* weights[4];
    for (int i = 0; i < 4; ++i) {
      ids[i] = k.ids.data[span.key_begin + std::min<int64_t>(j + i, span.key_count - 1)];
      weights[i] = k.weight.row<int8_t>(ids[i]);
      if (j + i + prefetched >= span.key_count) continue;
      const int8_t* later = k.weight.row<int8_t>(k.ids.data[span.key_begin + j + i + prefetched]);
      for (int64_t c = 0; c < x.k; c += 64) hwy::Prefetch(later + c);
    }
    float totals[rows][4] = {};
    for (int64_t g = 0; g < groups; ++g) add_listed(x, row, g, weights, totals);
    float scales[4], bias[4];
    for (int i = 0; i < 4; ++i) {
      scales[i] = k.weight.scales.data[ids[i]];
      bias[i] = k.bias ? k.bias.as<float>()[ids[i]] : 0;
    }
    for (int r = 0; r < rows; ++r) {
      over_four([&](int i, auto few) HWY_ATTR {
        const auto sum = hn::LoadU(few, totals[r] + i), scale = hn::LoadU(few, scales + i);
        const auto logit = k.bias ? hn::MulAdd(sum, scale, hn::LoadU(few, bias + i)) : hn::Mul(sum, scale);
        hn::StoreU(logit, few, totals[r] + i);
      });
      std::copy_n(totals[r], std::min<int64_t>(4, span.key_count - j), k.out.row<float>(row + r) + j);
    }
  }
}

/// The logits of spans [begin, end).
void multiply_listed_spans(const kernel::ListedLogits& k, const Int8Rows& x, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const AttentionSpan& span = k.device_spans.data[i];
    int64_t row = span.query_begin;
    for (; row + 2 <= span.query_begin + span.query_count; row += 2) multiply_listed<2>(k, span, x, row);
    if (row < span.query_begin + span.query_count) multiply_listed<1>(k, span, x, row);
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(subtract_zeros);
HWY_EXPORT(multiply_listed_spans);

}  // namespace

void CpuBackend::compute(const kernel::ListedLogits& k) {
  const SubnormalsAsZero mode;
  const Int8Rows rows = rounded_rows(k.x, {.bits = 8, .step_size = 2}, 1);
  split(k.x.rows, k.x.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(subtract_zeros)(rows, begin, end);
  });
  int64_t products = 0;
  for (const AttentionSpan& span : k.spans) products += int64_t{span.query_count} * span.key_count;
  const auto spans = std::ssize(k.spans);
  split(spans, products / std::max<int64_t>(spans, 1) * k.x.cols / 8, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(multiply_listed_spans)(k, rows, begin, end);
  });
}

}  // namespace sixfold
#endif
