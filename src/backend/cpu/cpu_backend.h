#pragma once
#include <functional>
#include <vector>

#include "backend/cpu/onednn.h"
#include "backend/host_memory.h"
#include "base/threads.h"

namespace sixfold {

/// The next multiple of `to`.
constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Memory that a kernel uses while it runs: grows to the largest request and stays.
class Scratch {
 public:
  ~Scratch();
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  float* floats(int64_t count);

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

struct Int8Panels;

/// What code outside the instruction set's own must know of its tiles (panels.h).
struct PanelSizes {
  int64_t tile_rows, tile_cols;
  int64_t copy;  ///< floats of scratch that a product takes in each thread
};

/// fp32 and int8 kernels on Highway: one binary holds them for each instruction set, the processor's best is
/// taken at run time.
class CpuBackend final : public HostBackend {
 public:
  CpuBackend(int threads, MatmulPrecision products);
  std::string name() const override;
  int threads() const override { return pool_.threads(); }

  void fill(View out, double value) override;

  std::shared_ptr<PackedWeight> pack(View b, bool transpose_b, void* memory) override;
  size_t packed_bytes(View b, bool transpose_b) override;
  void matmul(const Matmul&) override;
  void column_sum(View out, View x, bool accumulate) override;
  void add(View out, View a, View b) override;
  void scale(View out, View a, double factor) override;
  void dropout(View out, View x, const Dropout&) override;
  void activate(View out, View x, Activation) override;
  void activate_gradient(View grad_x, View grad_out, View x, Activation) override;
  void copy_rows(View out, const int32_t* out_rows, View x) override;
  void embed(const Embed&) override;
  void embed_gradient(const Embed& forward, View grad_out, View grad_table) override;
  void residual_norm(const ResidualNorm&) override;
  void residual_norm_gradient(const ResidualNormGradient&) override;
  void attention(const Attention&) override;
  void attention_gradient(const AttentionGradient&) override;
  void cross_entropy(const CrossEntropy&) override;
  void log_probability(View out, View logits, const int32_t* targets) override;
  void top_k(const TopK&) override;
  void adam(const Adam&) override;
  double sum_of_squares(View x) override;

 private:
  /// Runs `body(begin, end, thread)` over pieces of [0, count), each of some `cost` per item, in parallel where
  /// it pays.
  void split(int64_t count, int64_t cost, const std::function<void(int64_t, int64_t, int)>& body);

  std::shared_ptr<PackedWeight> pack_bf16(View b, void* memory);
  void round_to_bf16(View x, uint16_t* out);
  void matmul_bf16(const Matmul&);
  void matmul_int8(const Matmul&, const Int8Panels& weight);

  /// A thread's scratch for the random bits of a row (some more for a whole vector), and for a row.
  uint16_t* bits_of(int thread, int64_t features);
  float* spare_of(int thread, int64_t features);

  MatmulPrecision products_;
  ThreadPool pool_;
  Scratch shared_;                ///< panels of a product's right side, or its sides in int8 and bf16
  std::vector<Scratch> private_;  ///< one for each thread
  std::vector<Scratch> bits_;
  std::vector<Bf16Multiplier> multipliers_;
};

}  // namespace sixfold
