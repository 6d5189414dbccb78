#pragma once
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "backend/host_memory.h"
#include "base/error.h"

// The specification of the kernels: each a plain loop over a formula, in fp32 or fp64. MatmulPrecision and sums
// over tokens are in the type of the data, in the order of the loop; what a row is reduced to (mean, variance,
// the softmax's denominator) is summed in fp64 for both and then rounded.

namespace sixfold {

class ReferenceBackend final : public HostBackend {
 public:
  std::string name() const override { return "reference"; }
  int threads() const override { return 1; }

  void fill(View out, double value) override;
  std::shared_ptr<PackedWeight> pack(View b, bool transpose_b, void* memory) override;
  size_t packed_bytes(View, bool) override { return 0; }
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
};

/// Calls `function(T{})` with T the C++ type of `dtype`. Throws an input error for a type other than fp32 and
/// fp64.
template <class Function>
void with_type(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::f32:
      return function(float{});
    case DType::f64:
      return function(double{});
    default:
      throw_input_error("the reference backend computes in F32 and F64, not in {}; convert the tensor first",
                        name_of(dtype));
  }
}

/// log(sum of exp(x[i])), safe from overflow; -infinity for no elements.
template <class T>
double log_sum_exp(const T* x, int64_t count) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) largest = std::fmax(largest, x[i]);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(x[i] - largest);
  return largest + std::log(sum);
}

}  // namespace sixfold
