#pragma once
#include "backend/backend.h"

namespace sixfold {

/// Computes nothing and holds nothing: memory is addresses alone. A model that runs on it tells how much memory
/// the same run would take elsewhere. What is copied out is zeros.
class MetaBackend final : public Backend {
 public:
  std::string name() const override { return "dry"; }
  int threads() const override { return 1; }
  /// Bytes that are held, and the most that were at once.
  size_t in_use() const { return in_use_; }
  size_t peak() const { return peak_; }
  /// The most elements that both sides of one product have together: kernels lay them out anew.
  int64_t largest_product() const { return largest_product_; }

  void* allocate(size_t bytes) override;
  void free(void* data, size_t bytes) override;
  void copy_in(void*, const void*, size_t) override {}
  void copy_out(void* to_host, const void*, size_t bytes) override;
  void fill(View, double) override {}
  std::shared_ptr<PackedWeight> pack(View b, bool, void*) override;
  size_t packed_bytes(View b, bool) override;
  void matmul(const Matmul& product) override;
  void column_sum(View, View, bool) override {}
  void add(View, View, View) override {}
  void scale(View, View, double) override {}
  void dropout(View, View, const Dropout&) override {}
  void activate(View, View, Activation) override {}
  void activate_gradient(View, View, View, Activation) override {}
  void copy_rows(View, const int32_t*, View) override {}
  void gather_rows(View, View, const int32_t*) override {}
  void embed(const Embed&) override {}
  void embed_gradient(const Embed&, View, View) override {}
  void residual_norm(const ResidualNorm&) override {}
  void residual_norm_gradient(const ResidualNormGradient&) override {}
  void attention(const Attention&) override {}
  void attention_gradient(const AttentionGradient&) override {}
  void cross_entropy(const CrossEntropy&) override {}
  void log_probability(View, View, const int32_t*) override {}
  void top_k(const TopK&) override {}
  void adam(const Adam&) override {}
  double sum_of_squares(View) override { return 0; }

 private:
  struct Prepared;
  size_t in_use_ = 0, peak_ = 0;
  int64_t largest_product_ = 0;
};

}  // namespace sixfold
