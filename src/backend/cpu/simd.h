// Included once for each instruction set, by a file that foreach_target.h includes repeatedly.
#if defined(SIXFOLD_CPU_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SIXFOLD_CPU_SIMD_H
#undef SIXFOLD_CPU_SIMD_H
#else
#define SIXFOLD_CPU_SIMD_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "backend/backend.h"
#include "base/random.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Words = hn::Repartition<uint32_t, Floats>;
using Vector = hn::Vec<Floats>;
inline constexpr int lanes = static_cast<int>(hn::MaxLanes(Floats()));

/// Loads the first `count` floats at p and sets the other lanes to zero. Memory beyond them is not read.
/// (MaskedLoad reads it on instruction sets without masks, and needs p to be aligned.)
HWY_INLINE Vector load_first(const float* p, int64_t count) {
  HWY_ALIGN float first[lanes] = {};
  std::memcpy(first, p, sizeof(float) * static_cast<size_t>(count));
  return hn::Load(Floats(), first);
}

/// Stores the first `count` lanes. Memory beyond them is not written, also not with what it holds, since
/// another thread may write it. (BlendedStore does that on instruction sets without masks.)
HWY_INLINE void store_first(Vector v, float* p, int64_t count) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  hn::BlendedStore(v, hn::FirstN(Floats(), static_cast<size_t>(count)), Floats(), p);
#else
  HWY_ALIGN float all[lanes];
  hn::Store(v, Floats(), all);
  std::memcpy(p, all, sizeof(float) * static_cast<size_t>(count));
#endif
}

/// Calls body(i, load, store) for i = 0, lanes, 2 * lanes, ... below n: first with full vectors, then with a
/// partial one. `load(p)` and `store(v, p)` access only elements before the end; lanes beyond it are loaded as
/// zero.
template <class Body>
HWY_INLINE void over_vectors(int64_t n, const Body& body) {
  const Floats d;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    body(
        i, [&](const float* p) HWY_ATTR { return hn::LoadU(d, p); },
        [&](Vector v, float* p) HWY_ATTR { hn::StoreU(v, d, p); });
  if (i < n) {
    body(
        i, [&](const float* p) HWY_ATTR { return load_first(p, n - i); },
        [&](Vector v, float* p) HWY_ATTR { store_first(v, p, n - i); });
  }
}

/// A number whose sum with a float of at most 2^22 is to_integer + n, where n is the nearest integer, ties to
/// even; its bits are to_integer_bits + n. This takes fewer instructions than a conversion.
inline constexpr float to_integer = 0x1.8p23f;
inline constexpr int32_t to_integer_bits = std::bit_cast<int32_t>(to_integer);

/// The sum of all lanes, in a fixed order.
HWY_INLINE float sum_lanes(Vector v) { return hn::GetLane(hn::SumOfLanes(Floats(), v)); }
HWY_INLINE float max_lanes(Vector v) { return hn::GetLane(hn::MaxOfLanes(Floats(), v)); }

#if HWY_TARGET != HWY_SCALAR
/// Adds the blocks of four lanes of a vector, and stores the four sums.
template <class D>
HWY_INLINE void store_sum_of_blocks(D d, hn::Vec<D> v, hn::TFromD<D>* to) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    store_sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  } else {
    hn::StoreU(v, d, to);
  }
}
#endif

/// to[i] = the sum of the lanes of v[i], for four vectors of lanes of 32 bits, in a fixed order.
template <class D>
HWY_INLINE void sum_lanes_of_four(D d, const hn::Vec<D> (&v)[4], hn::TFromD<D>* to) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) to[i] = hn::GetLane(v[i]);
  (void)d;
#else
  const hn::Repartition<uint64_t, D> pairs;
  const auto add_pairs = [&](auto a, auto b) HWY_ATTR {  // in blocks of four: a0+a2, b0+b2, a1+a3, b1+b3
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto first = add_pairs(v[0], v[1]), second = add_pairs(v[2], v[3]);
  store_sum_of_blocks(d,
                      hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, first, second)),
                              hn::BitCast(d, hn::InterleaveUpper(pairs, first, second))),
                      to);
#endif
}

/// Writes the 16 random bits of features [first, first + features) of a row, in the order described at
/// `Dropout`. `first` must be a multiple of 8. `bits` has room for `features` rounded up to a multiple of 8 x
/// lanes.
HWY_INLINE void dropout_bits(const Dropout& dropout, int64_t row, uint32_t module, int64_t features,
                             uint16_t* bits, int64_t first = 0) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t block = 0; block * 8 < features; ++block) {
    const auto words = Philox::bits(
        {static_cast<uint32_t>(first / 8 + block), static_cast<uint32_t>(dropout.position.data[row]),
         static_cast<uint32_t>(dropout.sentence.data[row]), module},
        dropout.seed, dropout.update);
    std::memcpy(bits + block * 8, words.data(), sizeof words);
  }
#else
  const Words d;
  const hn::Repartition<uint64_t, Words> wide;
  const auto multiply = [&](auto c, uint32_t multiplier, auto& high, auto& low) HWY_ATTR {
    const auto factor = hn::Set(d, multiplier);
    const auto even = hn::MulEven(c, factor);
    const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, c))), factor);
    high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
    low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  };
  for (int64_t block = 0; block * 8 < features; block += lanes) {
    auto c0 = hn::Iota(d, static_cast<uint32_t>(first / 8 + block));
    auto c1 = hn::Set(d, static_cast<uint32_t>(dropout.position.data[row]));
    auto c2 = hn::Set(d, static_cast<uint32_t>(dropout.sentence.data[row]));
    auto c3 = hn::Set(d, module);
    uint32_t key0 = dropout.seed, key1 = dropout.update;
    for (int round = 0; round < Philox::rounds; ++round) {
      hn::Vec<Words> high0, low0, high1, low1;
      multiply(c0, Philox::multiplier0, high0, low0);
      multiply(c2, Philox::multiplier1, high1, low1);
      c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, key0));
      c1 = low1;
      c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1));
      c3 = low0;
      key0 += Philox::weyl0;
      key1 += Philox::weyl1;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, reinterpret_cast<uint32_t*>(bits + block * 8));
  }
#endif
}

/// Returns `scale` for features that are kept and 0 for features that are dropped. `bits`: those of
/// `dropout_bits`, of which as many are read as a vector has lanes.
HWY_INLINE Vector keep_factor(const uint16_t* bits, uint32_t threshold, float scale) {
  const Floats d;
  const hn::Repartition<int32_t, Floats> ints;
  const hn::Rebind<uint16_t, Floats> halves;
  const auto draw = hn::PromoteTo(ints, hn::LoadU(halves, bits));
  const auto kept = hn::Gt(draw, hn::Set(ints, static_cast<int32_t>(threshold) - 1));
  return hn::IfThenElseZero(hn::RebindMask(d, kept), hn::Set(d, scale));
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
