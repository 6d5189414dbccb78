#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/bf16.cc"
#include "backend/cpu/bf16.h"

#include <hwy/foreach_target.h>

#include "backend/cpu/panels.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Rounds rows [begin, end) of x to bf16, to the nearest, halves to even. What is no number stays none.
void round_rows_to_bf16(const View& x, int64_t begin, int64_t end, uint16_t* out) {
  const Words words;
  const hn::RebindToSigned<Words> ints;
  const hn::Rebind<uint16_t, Floats> halves;
  for (int64_t r = begin; r < end; ++r) {
    const float* from = x.row<float>(r);
    uint16_t* to = out + r * x.cols;
    over_vectors(x.cols, [&](int64_t i, const auto& load, const auto&) HWY_ATTR {
      const auto v = load(from + i);
      const auto bits = hn::BitCast(words, v);
      const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
      const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fff))));
      const auto none = hn::RebindMask(words, hn::Ne(v, v));
      const auto top = hn::IfThenElse(none, hn::Set(words, 0x7fc0), rounded);
      const auto half = hn::DemoteTo(halves, hn::BitCast(ints, top));
      if (i + lanes <= x.cols) return hn::StoreU(half, halves, to + i);
      HWY_ALIGN uint16_t few[lanes];
      hn::Store(half, halves, few);
      std::memcpy(to + i, few, sizeof(uint16_t) * static_cast<size_t>(x.cols - i));
    });
  }
}

/// The epilogue of rows [begin, end) of a product.
void finish_rows(const Matmul& p, int64_t begin, int64_t end) {
  const BlockEpilogue e{.bias = p.epilogue.bias ? p.epilogue.bias.as<float>() : nullptr,
                        .relu = p.epilogue.relu,
                        .relu_of = p.epilogue.relu_of ? p.epilogue.relu_of.row<float>(begin) : nullptr,
                        .relu_of_stride = p.epilogue.relu_of.stride};
  finish_tile(e, static_cast<int>(end - begin), p.result.cols, p.result.row<float>(begin), p.result.stride, 0,
              0);
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(round_rows_to_bf16);
HWY_EXPORT(finish_rows);

}  // namespace

void CpuBackend::round_to_bf16(View x, uint16_t* out) {
  split(x.rows, x.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(round_rows_to_bf16)(x, begin, end, out);
  });
}

size_t Bf16Weight::bytes(View b) { return static_cast<size_t>(b.rows * b.cols) * sizeof(uint16_t); }

std::shared_ptr<PreparedWeight> CpuBackend::prepare_bf16(View b, void* memory) {
  auto weight = std::make_shared<Bf16Weight>();
  weight->data = static_cast<uint16_t*>(memory);
  if (!memory) weight->data = reinterpret_cast<uint16_t*>(weight->own.floats((b.rows * b.cols + 1) / 2));
  round_to_bf16(b, weight->data);
  return weight;
}

// Rows of the result are shared out in pieces that don't depend on the number of threads, and so neither do its
// bits.
void CpuBackend::matmul_bf16(const Matmul& p) {
  constexpr int64_t piece = 512;
  const int64_t m = p.result.rows, n = p.result.cols, k = p.transpose_a ? p.a.rows : p.a.cols;
  uint16_t* a = reinterpret_cast<uint16_t*>(shared_.floats((m * k + k * n + 2) / 2));
  const uint16_t* b = a + m * k;
  if (p.prepared_b)
    b = static_cast<const Bf16Weight*>(p.prepared_b)->data;
  else
    round_to_bf16(p.b, a + m * k);
  round_to_bf16(p.a, a);
  pool_.run((m + piece - 1) / piece, [&](int64_t task, int thread) {
    const int64_t begin = task * piece, end = std::min(m, begin + piece);
    multipliers_[static_cast<size_t>(thread)].run({.m = end - begin,
                                                   .n = n,
                                                   .k = k,
                                                   .a = a + begin * (p.transpose_a ? 1 : k),
                                                   .a_row = p.transpose_a ? 1 : k,
                                                   .a_col = p.transpose_a ? m : 1,
                                                   .b = b,
                                                   .b_row = p.transpose_b ? 1 : n,
                                                   .b_col = p.transpose_b ? k : 1,
                                                   .c = p.result.row<float>(begin),
                                                   .c_row = p.result.stride,
                                                   .accumulate = p.accumulate});
    if (p.epilogue.bias || p.epilogue.relu || p.epilogue.relu_of)
      HWY_DYNAMIC_DISPATCH(finish_rows)(p, begin, end);
  });
}

}  // namespace sixfold
#endif
