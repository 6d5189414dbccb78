#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/bf16.cc"
#include "backend/cpu/bf16.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <span>
#include <vector>

#include "backend/cpu/panels.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// Applies the epilogue to the rows and columns of a product from (row, col) on.
void finish_block(const kernel::Matmul& p, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  const BlockEpilogue e{.bias = p.epilogue.bias ? p.epilogue.bias.as<float>() + col : nullptr,
                        .relu = p.epilogue.relu,
                        .relu_of = p.epilogue.relu_of ? p.epilogue.relu_of.row<float>(row) + col : nullptr,
                        .relu_of_stride = p.epilogue.relu_of.stride};
  finish_tile(e, static_cast<int>(rows), cols, p.result.row<float>(row) + col, p.result.stride, 0, 0);
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(finish_block);

constexpr int64_t side = bf16_panel_side, depth = bf16_tile_depth, pair_size = 2 * bf16_tile_size;
constexpr int64_t chunk = 32;  ///< number of tiles of k that are multiplied at once, to stay in the caches
constexpr int64_t max_row_panels = 8;  ///< number of panels of a in a block, for the same reason

int64_t panels_of(int64_t n) { return (n + side - 1) / side; }
int64_t tiles_of(int64_t k) { return (k + depth - 1) / depth; }

/// An operand [n, k] that is packed, n being the rows of a or the columns of b.
struct Operand {
  View x;
  bool k_by_rows;
  bool of_b;
  int64_t n() const { return k_by_rows ? x.cols : x.rows; }
  int64_t k() const { return k_by_rows ? x.rows : x.cols; }
};

Operand left_operand(const kernel::Matmul& p) { return {.x = p.a, .k_by_rows = p.transpose_a, .of_b = false}; }
Operand right_operand(View b, bool transpose) { return {.x = b, .k_by_rows = !transpose, .of_b = true}; }

/// Tiles [tile, tile + tiles) of panels [panel, panel + panels), and the memory into which they are packed.
/// Panels of `to` are `stride` apart.
struct PackedPart {
  int64_t panel, panels, tile, tiles;
  uint16_t* to;
  int64_t stride;
};

void pack_part(const Bf16Kernel& kernel, const Operand& from, const PackedPart& part) {
  const auto pack = [&](int64_t panel, int64_t tile) {
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t i = (part.panel + panel) * side + half * bf16_tile_side, k = (part.tile + tile) * depth;
      const Bf16Source source{
          .data = from.x.as<float>() + (from.k_by_rows ? k * from.x.stride + i : i * from.x.stride + k),
          .stride = from.x.stride,
          .side = std::min(bf16_tile_side, from.n() - i),
          .depth = std::min(depth, from.k() - k),
          .k_by_rows = from.k_by_rows};
      kernel.pack(source, from.of_b, part.to + panel * part.stride + tile * pair_size + half * bf16_tile_size);
    }
  };
  if (from.k_by_rows)  // in the order of memory
    for (int64_t tile = 0; tile < part.tiles; ++tile)
      for (int64_t panel = 0; panel < part.panels; ++panel) pack(panel, tile);
  else
    for (int64_t panel = 0; panel < part.panels; ++panel)
      for (int64_t tile = 0; tile < part.tiles; ++tile) pack(panel, tile);
}

int64_t packed_size(const Operand& x) { return panels_of(x.n()) * tiles_of(x.k()) * pair_size; }

/// Packs whole operands, one after the other; threads share the work.
void pack_operands(ThreadPool& pool, const Bf16Kernel& kernel, std::span<const Operand> operands,
                   uint16_t* to) {
  struct Task {
    const Operand* operand;
    PackedPart part;
  };
  std::vector<Task> tasks;
  for (const Operand& operand : operands) {
    const int64_t panels = panels_of(operand.n()), tiles = tiles_of(operand.k()), stride = tiles * pair_size;
    for (int64_t tile = 0; tile < tiles; tile += chunk)
      for (int64_t panel = 0; panel < panels; panel += max_row_panels)
        tasks.push_back({&operand,
                         {.panel = panel,
                          .panels = std::min(max_row_panels, panels - panel),
                          .tile = tile,
                          .tiles = std::min(chunk, tiles - tile),
                          .to = to + panel * stride + tile * pair_size,
                          .stride = stride}});
    to += packed_size(operand);
  }
  pool.run(std::ssize(tasks), [&](int64_t i, int) {
    const Task& task = tasks[static_cast<size_t>(i)];
    pack_part(kernel, *task.operand, task.part);
  });
}

/// A block of a product, in panels.
struct Block {
  int64_t row, rows, col, cols;
};

/// Divides a product into blocks. If there are enough rows for all threads, a block has all columns of some
/// rows; otherwise the columns are divided, too.
struct Blocks {
  Blocks(int64_t m, int64_t n, int threads) : row_panels(panels_of(m)), col_panels(panels_of(n)) {
    const int64_t min_row_blocks = (row_panels + max_row_panels - 1) / max_row_panels;
    row_blocks = min_row_blocks;
    if (min_row_blocks >= threads) {
      row_blocks = round_up(min_row_blocks, threads);
    } else {
      const int64_t min_blocks = col_panels >= 64 ? 4 * threads : threads;
      col_blocks = (min_blocks + min_row_blocks - 1) / min_row_blocks;
    }
    rows = std::max<int64_t>(1, (row_panels + row_blocks - 1) / row_blocks);
    row_blocks = (row_panels + rows - 1) / rows;
    cols = std::max<int64_t>(1, (col_panels + col_blocks - 1) / col_blocks);
    col_blocks = (col_panels + cols - 1) / cols;
  }
  int64_t count() const { return row_blocks * col_blocks; }
  Block operator[](int64_t task) const {
    const int64_t row = task % row_blocks * rows, col = task / row_blocks * cols;
    return {row, std::min(rows, row_panels - row), col, std::min(cols, col_panels - col)};
  }
  int64_t row_panels, col_panels;
  int64_t rows = 1, cols = 1;  ///< of a block, in panels
  int64_t row_blocks = 1, col_blocks = 1;
};

/// Computes a part of a result that is smaller than the product of two panels.
void multiply_edge(const Bf16Kernel& kernel, Bf16Panels panels, int64_t rows, int64_t cols) {
  alignas(64) float edge[side * side];
  float* c = panels.c;
  const int64_t stride = panels.stride;
  const auto bytes = static_cast<size_t>(cols) * sizeof(float);
  if (panels.accumulate)
    for (int64_t r = 0; r < rows; ++r) std::memcpy(edge + r * side, c + r * stride, bytes);
  panels.c = edge;
  panels.stride = side;
  kernel.multiply(panels);
  for (int64_t r = 0; r < rows; ++r) std::memcpy(c + r * stride, edge + r * side, bytes);
}

/// Computes a block of a product, given b in panels. If several blocks share the rows of a, `packed_a` has a in
/// panels; otherwise it is null, and the block's panels of a are packed into `memory`, one chunk at a time.
void multiply_block(const Bf16Kernel& kernel, const kernel::Matmul& p, const Block& block, const uint16_t* b,
                    const uint16_t* packed_a, uint16_t* memory) {
  const Operand left = left_operand(p);
  const int64_t m = p.result.rows, n = p.result.cols, tiles = tiles_of(left.k());
  const int64_t stride = (packed_a ? tiles : chunk) * pair_size;
  for (int64_t tile = 0; tile == 0 || tile < tiles; tile += chunk) {  // also once for k = 0
    const int64_t count = std::min(chunk, tiles - tile);
    const uint16_t* a = packed_a ? packed_a + block.row * stride + tile * pair_size : memory;
    if (!packed_a) pack_part(kernel, left, {block.row, block.rows, tile, count, memory, stride});
    for (int64_t j = block.col; j < block.col + block.cols; ++j)
      for (int64_t i = 0; i < block.rows; ++i) {
        const int64_t row = (block.row + i) * side, col = j * side;
        const int64_t rows = std::min(side, m - row), cols = std::min(side, n - col);
        const Bf16Panels panels{.a = a + i * stride,
                                .b = b + (j * tiles + tile) * pair_size,
                                .tiles = count,
                                .half = rows <= bf16_tile_side,
                                .c = p.result.row<float>(row) + col,
                                .stride = p.result.stride,
                                .accumulate = p.accumulate || tile > 0};
        if (rows % bf16_tile_side == 0 && cols == side)
          kernel.multiply(panels);
        else
          multiply_edge(kernel, panels, rows, cols);
      }
  }
}

}  // namespace

Bf16Kernel best_bf16_kernel() {
  const Bf16Kernel amx = bf16_amx_kernel();
  return amx ? amx : bf16_avx512_kernel();
}

size_t CpuBackend::bf16_bytes(View b, bool transpose) {
  return static_cast<size_t>(packed_size(right_operand(b, transpose))) * sizeof(uint16_t);
}

std::shared_ptr<PackedWeight> CpuBackend::pack_bf16(View b, bool transpose, void* memory) {
  auto weight = std::make_shared<Bf16Weight>();
  const Operand operand = right_operand(b, transpose);
  weight->data = static_cast<uint16_t*>(memory);
  if (!memory) weight->data = reinterpret_cast<uint16_t*>(weight->own.floats(packed_size(operand) / 2));
  pack_operands(*pool_, *bf16_, {&operand, 1}, weight->data);
  return weight;
}

void CpuBackend::matmul_bf16(const kernel::Matmul& p) {
  const Blocks blocks(p.result.rows, p.result.cols, threads());
  const Operand left = left_operand(p), right = right_operand(p.b, p.transpose_b);
  const bool shares_a = blocks.col_blocks > 1;
  std::vector<Operand> operands;
  if (shares_a) operands.push_back(left);
  if (!p.packed_b) operands.push_back(right);
  const int64_t size_a = shares_a ? packed_size(left) : 0, size_b = p.packed_b ? 0 : packed_size(right);
  auto* packed = reinterpret_cast<uint16_t*>(shared_scratch_.floats((size_a + size_b) / 2));
  if (!operands.empty()) pack_operands(*pool_, *bf16_, operands, packed);
  const uint16_t* b = p.packed_b ? static_cast<const Bf16Weight*>(p.packed_b)->data : packed + size_a;
  pool_->run(blocks.count(), [&](int64_t task, int thread) {
    const Block block = blocks[task];
    Scratch& scratch = thread_scratch_[static_cast<size_t>(thread)];
    auto* a = reinterpret_cast<uint16_t*>(scratch.floats(block.rows * chunk * pair_size / 2));
    bf16_->begin();
    multiply_block(*bf16_, p, block, b, shares_a ? packed : nullptr, a);
    bf16_->end();
    if (!p.epilogue.bias && !p.epilogue.relu && !p.epilogue.relu_of) return;
    const int64_t row = block.row * side, col = block.col * side;
    const int64_t rows = std::min(block.rows * side, p.result.rows - row);
    const int64_t cols = std::min(block.cols * side, p.result.cols - col);
    HWY_DYNAMIC_DISPATCH(finish_block)(p, row, rows, col, cols);
  });
}

}  // namespace sixfold
#endif
