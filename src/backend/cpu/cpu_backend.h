#pragma once
#include <deque>
#include <functional>
#include <vector>

#include "backend/host_memory.h"
#include "base/threads.h"

namespace sixfold {

/// Rounds n up to a multiple of `to`.
constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Scratch memory of a kernel. It grows to the largest request and is kept. Its contents do not survive the
/// next request.
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

struct Int8Kernel;
struct Int8Layout;
struct Int8Panels;
struct Int8Rows;
struct Bf16Kernel;

/// The tile sizes of an instruction set (panels.h), for code that is compiled once for all instruction sets.
struct PanelSizes {
  int64_t tile_rows, tile_cols;
  int64_t copy;  ///< number of floats of scratch memory that a product needs in each thread
};

/// fp32 and int8 kernels written with Highway. The binary contains them for several instruction sets; the best
/// one for the processor is chosen at run time. Results do not depend on the number of threads.
class CpuBackend final : public HostBackend {
 public:
  CpuBackend(int threads, MatmulPrecision products);
  std::string name() const override;
  std::shared_ptr<Backend> sibling() const override;
  void use_threads(ThreadPool* pool) override;
  /// Kernels without a `compute` function below run on the reference backend, and so do those on fp64.
  void run(KernelCall call) override;
  std::shared_ptr<PackedWeight> pack(View b, bool transpose_b, void* memory) override;
  size_t packed_bytes(View b, bool transpose_b) override;

 private:
  void compute(const kernel::Fill& k);
  void compute(const kernel::Matmul& k);
  void compute(const kernel::ColumnSum& k);
  void compute(const kernel::Add& k);
  void compute(const kernel::Multiply& k);
  void compute(const kernel::Scale& k);
  void compute(const kernel::Rotate& k);
  void compute(const kernel::ApplyDropout& k);
  void compute(const kernel::Activate& k);
  void compute(const kernel::ActivateGradient& k);
  void compute(const kernel::CopyRows& k);
  void compute(const kernel::Embed& k);
  void compute(const kernel::EmbedGradient& k);
  void compute(const kernel::ResidualNorm& k);
  void compute(const kernel::ResidualNormGradient& k);
  void compute(const kernel::BatchNorm& k);
  void compute(const kernel::BatchNormGradient& k);
  void compute(const kernel::Attention& k);
  void compute(const kernel::AttentionGradient& k);
  void compute(const kernel::CrossEntropy& k);
  void compute(const kernel::RDrop& k);
  void compute(const kernel::Distillation& k);
  void compute(const kernel::ListedLogits& k);
  void compute(const kernel::LogProbability& k);
  void compute(const kernel::TopK& k);
  void compute(const kernel::Adam& k);
  void compute(const kernel::Sgd& k);
  void compute(const kernel::Adafactor& k);
  void compute(const kernel::BlockSquares& k);
  void compute(const kernel::RecurrentStep& k);
  void compute(const kernel::RecurrentStepGradient& k);
  void compute(const kernel::Gate& k);
  void compute(const kernel::GateGradient& k);
  void compute(const kernel::Unfold& k);
  void compute(const kernel::Fold& k);
  void compute(const kernel::Depthwise& k);
  void compute(const kernel::DepthwiseWeightGradient& k);
  void compute(const kernel::LinearRecurrence& k);
  void compute(const kernel::LinearRecurrenceGradient& k);

  int threads() const { return pool_->threads(); }
  /// Runs `body(begin, end, thread)` over parts of [0, count), in parallel if the work is large enough. `cost`:
  /// the work for each item, as the number of elements that could be copied in the same time.
  void split(int64_t count, int64_t cost, const std::function<void(int64_t, int64_t, int)>& body);

  static size_t bf16_bytes(View b, bool transpose);
  std::shared_ptr<PackedWeight> pack_bf16(View b, bool transpose, void* memory);
  void matmul_bf16(const kernel::Matmul&);
  Int8Rows rounded_rows(const View& x, const Int8Layout& layout, int tile_rows);
  void matmul_int8(const kernel::Matmul&, const Int8Panels& weight);

  /// Returns scratch memory of a thread for the random bits of a row (rounded up to whole vectors), and for a
  /// row of floats.
  uint16_t* bits_buffer(int thread, int64_t features);
  float* row_buffer(int thread, int64_t features);

  MatmulPrecision products_;
  ThreadPool own_pool_;
  ThreadPool* pool_ = &own_pool_;           ///< whose threads compute the kernels
  std::shared_ptr<const Bf16Kernel> bf16_;  ///< if `products_` is bf16
  std::shared_ptr<const Int8Kernel> int8_;  ///< once a weight was packed for it
  Scratch shared_scratch_;                  ///< the packed right operand of a product, or both operands in int8
  std::deque<Scratch> thread_scratch_;      ///< one for each thread
  std::deque<Scratch> bits_scratch_;
};

}  // namespace sixfold
