#pragma once
#include <cmath>
#include <limits>

#include "backend/kernels.h"
#include "base/error.h"

// The specification of the kernels: each is a plain loop over a formula, in fp32 or fp64. Products and sums
// over tokens are computed in the type of the data, in the order of the loop. Reductions of a row (mean,
// variance, the denominator of the softmax) are summed in fp64 for both types and then rounded.

namespace sixfold::reference {

void compute(const kernel::Fill& k);
void compute(const kernel::Matmul& k);
void compute(const kernel::ColumnSum& k);
void compute(const kernel::Add& k);
void compute(const kernel::Multiply& k);
void compute(const kernel::Scale& k);
void compute(const kernel::Rotate& k);
void compute(const kernel::PositionFeature& k);
void compute(const kernel::Swap& k);
void compute(const kernel::ApplyDropout& k);
void compute(const kernel::Activate& k);
void compute(const kernel::ActivateGradient& k);
void compute(const kernel::CopyRows& k);
void compute(const kernel::GatherRows& k);
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
void compute(const kernel::LinkLoss& k);
void compute(const kernel::ListedLogits& k);
void compute(const kernel::LogProbability& k);
void compute(const kernel::TopK& k);
void compute(const kernel::Adam& k);
void compute(const kernel::Sgd& k);
void compute(const kernel::Adafactor& k);
void compute(const kernel::Sum& k);
void compute(const kernel::BlockSquares& k);
void compute(const kernel::RecurrentStep& k);
void compute(const kernel::RecurrentStepGradient& k);
void compute(const kernel::LastRows& k);
void compute(const kernel::Gate& k);
void compute(const kernel::GateGradient& k);
void compute(const kernel::Unfold& k);
void compute(const kernel::Fold& k);
void compute(const kernel::Depthwise& k);
void compute(const kernel::DepthwiseWeightGradient& k);
void compute(const kernel::LinearRecurrence& k);
void compute(const kernel::LinearRecurrenceGradient& k);

/// Calls `function(T{})` with T the C++ type of `dtype`. Throws an input error for a type other than fp32 and
/// fp64.
template <class Function>
void with_type(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::f32:
      return function(float{});
    case DType::f64:
      return function(double{});
    case DType::bf16:
    case DType::f16:
    case DType::i64:
    case DType::i32:
    case DType::i8:
    case DType::u8:
      throw_input_error("the reference backend computes in F32 and F64, not in {}; convert the tensor first",
                        name_of(dtype));
  }
  throw_unknown("type of elements", dtype);
}

/// Returns log(sum of exp(x[i])) without overflow; -infinity if there are no elements.
template <class T>
double log_sum_exp(const T* x, int64_t count) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) largest = std::fmax(largest, x[i]);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(x[i] - largest);
  return largest + std::log(sum);
}

}  // namespace sixfold::reference
