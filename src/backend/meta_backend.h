#pragma once
#include "backend/backend.h"

namespace sixfold {

/// A backend that computes nothing and hands out addresses without memory behind them. Running a model on it
/// shows how much memory the same run needs on another backend. Downloads give zeros.
class MetaBackend final : public Backend {
 public:
  std::string name() const override { return "meta"; }
  bool is_host() const override { return true; }  // like the backends whose memory is forecast
  std::shared_ptr<Backend> sibling() const override { return std::make_shared<MetaBackend>(); }
  /// The number of bytes that are allocated, and its maximum so far.
  size_t in_use() const { return in_use_; }
  size_t peak() const { return peak_; }
  /// The largest number of elements that both operands of a product have together; kernels copy them into
  /// another layout.
  int64_t largest_product() const { return largest_product_; }
  /// The number of multiplications and additions of all matrix products so far. It does not include the
  /// products of queries, keys and values inside the attention kernel.
  double product_operations() const { return product_operations_; }

  void* allocate(size_t bytes) override;
  void free(void* device, size_t bytes) override;
  void upload(void*, std::span<const std::byte>) override {}
  void download(std::span<std::byte> host, const void*) override;
  void run(KernelCall call) override;
  std::shared_ptr<PackedWeight> pack(View b, bool, void*) override;
  size_t packed_bytes(View b, bool) override;

 private:
  struct PackedRange;
  size_t in_use_ = 0, peak_ = 0;
  int64_t largest_product_ = 0;
  double product_operations_ = 0;
};

}  // namespace sixfold
