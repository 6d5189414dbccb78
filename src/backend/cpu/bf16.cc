#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/bf16.cc"
#include "backend/cpu/bf16.h"

#include <hwy/foreach_target.h>

#include <utility>
#include <vector>

#include "backend/cpu/panels.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Rounds rows [begin, end) of x to bf16: to the nearest value, ties to even. NaN stays NaN.
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

/// Applies the epilogue to rows and columns [begin, end) of a product.
void finish_block(const kernel::Matmul& p, const Bf16Block& block) {
  const int64_t row = block.row, col = block.col;
  const BlockEpilogue e{.bias = p.epilogue.bias ? p.epilogue.bias.as<float>() + col : nullptr,
                        .relu = p.epilogue.relu,
                        .relu_of = p.epilogue.relu_of ? p.epilogue.relu_of.row<float>(row) + col : nullptr,
                        .relu_of_stride = p.epilogue.relu_of.stride};
  finish_tile(e, static_cast<int>(block.rows), block.cols, p.result.row<float>(row) + col, p.result.stride, 0,
              0);
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(round_rows_to_bf16);
HWY_EXPORT(finish_block);

}  // namespace

void CpuBackend::round_to_bf16(View x, uint16_t* out) {
  split(x.rows, x.cols, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(round_rows_to_bf16)(x, begin, end, out);
  });
}

/// A multiple of the size of fp32, in whose tensors callers keep packed weights.
size_t Bf16Weight::bytes(View b) { return static_cast<size_t>((b.rows * b.cols + 1) / 2) * sizeof(float); }

std::shared_ptr<PackedWeight> CpuBackend::pack_bf16(View b, void* memory) {
  auto weight = std::make_shared<Bf16Weight>();
  weight->data = static_cast<uint16_t*>(memory);
  if (!memory) weight->data = reinterpret_cast<uint16_t*>(weight->own.floats((b.rows * b.cols + 1) / 2));
  round_to_bf16(b, weight->data);
  return weight;
}

namespace {

/// Divides a result into blocks, each computed by one call of oneDNN. oneDNN compiles code for each shape, and
/// packed batches have ever different numbers of rows, so the blocks must have few different shapes. Rows:
/// blocks of 512, then one block of a multiple of 64, then powers of two. Columns: enough for several threads
/// to share a large vocabulary. The blocks do not depend on the number of threads, and so neither do the bits.
std::vector<Bf16Block> blocks_of(int64_t rows, int64_t cols) {
  constexpr int64_t width = 2048;
  std::vector<Bf16Block> blocks;
  int64_t row = 0;
  const auto take = [&](int64_t count) {
    for (int64_t col = 0; count > 0 && col < cols; col += width)
      blocks.push_back({row, count, col, std::min(width, cols - col)});
    row += count;
  };
  while (rows - row >= 512) take(512);
  take((rows - row) / 64 * 64);
  for (int64_t power = 32; power > 0; power /= 2)
    if (rows - row >= power) take(power);
  return blocks;
}

}  // namespace

void CpuBackend::matmul_bf16(const kernel::Matmul& p) {
  const int64_t m = p.result.rows, n = p.result.cols;
  // A sum over tokens is padded with zeros, because the number of tokens is arbitrary.
  const bool pads = p.transpose_a && !p.transpose_b && !p.packed_b;
  const int64_t depth = p.transpose_a ? p.a.rows : p.a.cols, k = pads ? round_up(depth, 256) : depth;
  uint16_t* a = reinterpret_cast<uint16_t*>(shared_.floats((m * k + k * n + 2) / 2));
  uint16_t* b = a + m * k;
  round_to_bf16(p.a, a);
  if (pads) std::fill_n(a + depth * m, (k - depth) * m, uint16_t{0});
  if (p.packed_b) {
    b = static_cast<const Bf16Weight*>(p.packed_b)->data;
  } else {
    round_to_bf16(p.b, b);
    if (pads) std::fill_n(b + depth * n, (k - depth) * n, uint16_t{0});
  }
  const auto blocks = blocks_of(m, n);
  pool_.run(std::ssize(blocks), [&](int64_t task, int thread) {
    const Bf16Block& block = blocks[static_cast<size_t>(task)];
    multipliers_[static_cast<size_t>(thread)].run({.m = block.rows,
                                                   .n = block.cols,
                                                   .k = k,
                                                   .a = a + block.row * (p.transpose_a ? 1 : k),
                                                   .a_row = p.transpose_a ? 1 : k,
                                                   .a_col = p.transpose_a ? m : 1,
                                                   .b = b + block.col * (p.transpose_b ? k : 1),
                                                   .b_row = p.transpose_b ? 1 : n,
                                                   .b_col = p.transpose_b ? k : 1,
                                                   .c = p.result.row<float>(block.row) + block.col,
                                                   .c_row = p.result.stride,
                                                   .accumulate = p.accumulate});
    if (p.epilogue.bias || p.epilogue.relu || p.epilogue.relu_of) HWY_DYNAMIC_DISPATCH(finish_block)(p, block);
  });
}

}  // namespace sixfold
#endif
