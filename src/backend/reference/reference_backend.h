#pragma once
#include <vector>

#include "backend/host_memory.h"

namespace sixfold {

/// A copy of a weight, for products of the reference backend.
struct ReferenceWeight final : PackedWeight {
  /// Copies `b` to `memory`, or to memory of its own if `memory` is null.
  ReferenceWeight(View b, void* memory);
  static size_t bytes(View b) { return static_cast<size_t>(b.rows * b.cols) * size_of(b.dtype); }
  View view;

 private:
  std::vector<std::byte> own_;
  std::vector<float> scales_;
};

/// Plain single-threaded loops in fp32 and fp64: the specification of the kernels (reference/kernels.h).
class ReferenceBackend final : public HostBackend {
 public:
  std::string name() const override { return "reference"; }
  std::shared_ptr<Backend> sibling() const override { return std::make_shared<ReferenceBackend>(); }
  void run(KernelCall call) override;
  std::shared_ptr<PackedWeight> pack(View b, bool transpose_b, void* memory) override;
  size_t packed_bytes(View b, bool transpose_b) override;
};

}  // namespace sixfold
