#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/matmul.cc"
#include <fmt/format.h>
#include <hwy/foreach_target.h>

#include "backend/cpu/bf16.h"
#include "backend/cpu/int8.h"
#include "backend/cpu/panels.h"
#include "base/error.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

PanelSizes panel_sizes() { return {tile_rows, tile_cols, tile_rows * a_stride}; }

void pack_piece(const float* b, int64_t row, int64_t col, const int64_t size[2], const int64_t piece[3],
                float* panels) {
  pack_panel({b, row, col}, size[0], size[1], piece[0], piece[1], piece[2], panels);
}

/// Computes rows [row0, row1) and columns [col0, col1) of a product; col0 is a multiple of tile_cols.
void multiply_block(const kernel::Matmul& p, const float* panels, int64_t k, const int64_t block[4],
                    float* copy) {
  const auto [row0, row1, col0, col1] = std::tuple(block[0], block[1], block[2], block[3]);
  const Strided a = p.transpose_a ? Strided{p.a.as<float>() + row0, 1, p.a.stride}
                                  : Strided{p.a.row<float>(row0), p.a.stride, 1};
  BlockEpilogue epilogue;
  if (p.epilogue.bias) epilogue.bias = p.epilogue.bias.as<float>() + col0;
  epilogue.relu = p.epilogue.relu;
  if (p.epilogue.relu_of) {
    epilogue.relu_of = p.epilogue.relu_of.row<float>(row0) + col0;
    epilogue.relu_of_stride = p.epilogue.relu_of.stride;
  }
  const bool has_epilogue = epilogue.bias || epilogue.relu || epilogue.relu_of;
  multiply_panels(a, panels + col0 * k, k, row1 - row0, col1 - col0, p.result.row<float>(row0) + col0,
                  p.result.stride, p.accumulate, copy, has_epilogue ? &epilogue : nullptr);
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(panel_sizes);
HWY_EXPORT(pack_piece);
HWY_EXPORT(multiply_block);

/// A weight in panels.
struct Panels final : PackedWeight {
  Panels(int64_t size, void* memory)
      : PackedWeight(DType::f32), data(memory ? static_cast<float*>(memory) : owned.floats(size)) {}
  Scratch owned;
  float* data;
};

}  // namespace

std::string CpuBackend::name() const {
  const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return fmt::format("cpu, {}{}", hwy::TargetName(usable & -usable),
                     products_ == MatmulPrecision::bf16 ? ", bf16" : "");
}

std::string bf16_instructions() { return best_bf16_kernel().name; }

std::string describe_processor() {
  const Bf16Kernel bf16 = best_bf16_kernel();
  const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return fmt::format("{} vectors, {}, int8 by {}", hwy::TargetName(usable & -usable),
                     bf16 ? fmt::format("bf16 by {}", bf16.name) : "no bf16", best_int8_kernel().name);
}

/// Packs b [k, n] into `panels`; threads share the work.
static void pack_panels(ThreadPool& pool, View b, bool transpose, float* panels) {
  const auto sizes = HWY_DYNAMIC_DISPATCH(panel_sizes)();
  const int64_t size[2] = {transpose ? b.cols : b.rows, transpose ? b.rows : b.cols};
  const int64_t row = transpose ? 1 : b.stride, col = transpose ? b.stride : 1;
  const int64_t count = round_up(size[1], sizes.tile_cols) / sizes.tile_cols, chunks = (size[0] + 1023) / 1024;
  const auto one = [&](int64_t task, int) {
    const int64_t chunk = task / count;
    const int64_t piece[3] = {task % count, chunk * 1024, std::min(size[0], (chunk + 1) * 1024)};
    HWY_DYNAMIC_DISPATCH(pack_piece)(b.as<float>(), row, col, size, piece, panels);
  };
  if (size[0] * size[1] < 16384)
    for (int64_t task = 0; task < count * chunks; ++task) one(task, 0);
  else
    pool.run(count * chunks, one);
}

/// The number of floats of b in panels.
static int64_t panel_floats(View b, bool transpose_b) {
  const int64_t k = transpose_b ? b.cols : b.rows, n = transpose_b ? b.rows : b.cols;
  return round_up(n, HWY_DYNAMIC_DISPATCH(panel_sizes)().tile_cols) * k;
}

size_t CpuBackend::packed_bytes(View b, bool transpose_b) {
  if (products_ == MatmulPrecision::bf16 && b.dtype == DType::f32) return bf16_bytes(b, transpose_b);
  return b.dtype == DType::i8 ? 0 : static_cast<size_t>(panel_floats(b, transpose_b)) * sizeof(float);
}

std::shared_ptr<PackedWeight> CpuBackend::pack(View b, bool transpose_b, void* memory) {
  if (b.dtype == DType::i8) {
    if (!int8_) int8_ = std::make_shared<const Int8Kernel>(best_int8_kernel());  // asking takes microseconds
    return pack_int8(b, *int8_);
  }
  if (products_ == MatmulPrecision::bf16) return pack_bf16(b, transpose_b, memory);
  auto weight = std::make_shared<Panels>(panel_floats(b, transpose_b), memory);
  pack_panels(*pool_, b, transpose_b, weight->data);
  return weight;
}

struct BlockSize {
  int64_t height, width;
};

/// The size of the blocks of a product [m, n]. They are so wide that k_block rows of B fit into the
/// second-level cache, and so high that each thread gets several blocks.
static BlockSize block_size(int64_t m, int64_t n, int threads, const PanelSizes& tile) {
  const int64_t max_width = std::min(round_up(n, tile.tile_cols), round_up(512, tile.tile_cols));
  if (threads > 1 &&
      m <= 4 * tile.tile_rows) {  // with few rows, reading B takes most of the time; threads divide it
    const int64_t share = (n + 2 * threads - 1) / (2 * threads);
    return {m, std::min(max_width, round_up(share, tile.tile_cols))};
  }
  const int64_t columns = (n + max_width - 1) / max_width;
  const int64_t row_blocks = threads > 1 ? std::max<int64_t>(1, (4 * threads + columns - 1) / columns) : 1;
  return {std::min(round_up((m + row_blocks - 1) / row_blocks, tile.tile_rows), 40 * tile.tile_rows),
          max_width};
}

void CpuBackend::compute(const kernel::Matmul& p) {
  if (p.packed_b && p.packed_b->dtype == DType::i8)
    return matmul_int8(p, *static_cast<const Int8Panels*>(p.packed_b));
  require(p.packed_b || p.b.dtype != DType::i8, "a quantized weight must be packed before products read it");
  const auto sizes = HWY_DYNAMIC_DISPATCH(panel_sizes)();
  const int64_t m = p.result.rows, n = p.result.cols, k = p.transpose_a ? p.a.rows : p.a.cols;
  if (m == 0 || n == 0) return;
  // The rows of a are not counted, so that the bits of a row do not depend on the others.
  const bool large = (p.transpose_a ? m : k) * n >= 2048;
  if (p.packed_b ? p.packed_b->dtype == DType::bf16 : products_ == MatmulPrecision::bf16 && large)
    return matmul_bf16(p);
  const SubnormalsAsZero mode;
  const float* panels;
  if (p.packed_b) {
    panels = static_cast<const Panels*>(p.packed_b)->data;
  } else {
    float* packed = shared_scratch_.floats(round_up(n, sizes.tile_cols) * std::max<int64_t>(k, 1));
    pack_panels(*pool_, p.b, p.transpose_b, packed);
    panels = packed;
  }
  const bool parallel = threads() > 1 && m * n * k > 100'000;
  const BlockSize size = block_size(m, n, parallel ? threads() : 1, sizes);
  const int64_t rows = (m + size.height - 1) / size.height, columns = (n + size.width - 1) / size.width;
  const auto one = [&](int64_t task, int thread) {
    const int64_t i = task % rows * size.height, j = task / rows * size.width;
    const int64_t block[4] = {i, std::min(m, i + size.height), j, std::min(n, j + size.width)};
    HWY_DYNAMIC_DISPATCH(multiply_block)(p, panels, k, block, thread_scratch_[thread].floats(sizes.copy));
  };
  if (parallel)
    pool_->run(rows * columns, one);
  else
    for (int64_t task = 0; task < rows * columns; ++task) one(task, 0);
}

}  // namespace sixfold
#endif
