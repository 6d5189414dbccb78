// Products of pairs of int16, with sums in int32. Included once for each instruction set.
#if defined(SIXFOLD_CPU_INT8_PAIRS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SIXFOLD_CPU_INT8_PAIRS_H
#undef SIXFOLD_CPU_INT8_PAIRS_H
#else
#define SIXFOLD_CPU_INT8_PAIRS_H
#endif

#include "backend/cpu/simd.h"

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

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
