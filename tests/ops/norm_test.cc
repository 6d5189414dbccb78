#include <gtest/gtest.h>

#include "ops/run_op.h"

namespace sixfold {
namespace {

/// norm(x) with weights of 1, no bias and hardly an epsilon.
HostMatrix normed(const HostMatrix& x, bool centered) {
  const Machine machine = reference_f64();
  const auto memory = lasting_memory(machine.backend);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  const HostMatrix ones{1, x.cols, std::vector<double>(static_cast<size_t>(x.cols), 1.0)};
  const Tensor weight = tensor_of(ones, *machine.backend, memory, machine.dtype);
  const Tensor y = ops::norm(context, tensor_of(x, *machine.backend, memory, machine.dtype),
                             {.weight = weight, .epsilon = 1e-12, .centered = centered});
  return {x.rows, x.cols, y.to_doubles(*machine.backend)};
}

HostMatrix scaled_and_moved(HostMatrix x, double factor, double summand) {
  for (double& value : x.values) value = value * factor + summand;
  return x;
}

double difference(const HostMatrix& a, const HostMatrix& b) {
  double most = 0;
  for (size_t i = 0; i < a.values.size(); ++i) most = std::max(most, std::abs(a.values[i] - b.values[i]));
  return most;
}

/// LayerNorm sees neither the scale of a row nor a shift of it; RMSNorm sees the shift.
TEST(Norm, WhatItIsBlindTo) {
  const HostMatrix x = HostMatrix::normal(3, 20, 1);
  for (const bool centered : {true, false}) {
    EXPECT_LT(difference(normed(x, centered), normed(scaled_and_moved(x, 7, 0), centered)), 1e-9);
    EXPECT_EQ(difference(normed(x, centered), normed(scaled_and_moved(x, 1, 3), centered)) < 1e-9, centered);
  }
}

TEST(Norm, RootMeanSquareBecomesOne) {
  const HostMatrix y = normed(scaled_and_moved(HostMatrix::normal(3, 20, 1), 5, 2), /*centered=*/false);
  for (int64_t r = 0; r < 3; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < 20; ++c) squares += std::pow(y.values[static_cast<size_t>(20 * r + c)], 2) / 20;
    EXPECT_NEAR(squares, 1, 1e-9);
  }
}

/// A gate whose weights are zero lets half of everything through: GLU is then a linear map of rank d_ff,
/// halved.
TEST(FeedForward, AGateThatKnowsNothingIsHalfOpen) {
  const Machine machine = reference_f64();
  const auto memory = lasting_memory(machine.backend);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  const auto tensor = [&](const HostMatrix& matrix) {
    return tensor_of(matrix, *machine.backend, memory, machine.dtype);
  };
  const Tensor x = tensor(HostMatrix::normal(4, 5, 1)), w1 = tensor(HostMatrix::normal(6, 5, 2)),
               w2 = tensor(HostMatrix::normal(5, 6, 3));
  const Tensor closed = tensor({6, 5, std::vector<double>(30, 0.0)});
  const HostMatrix y{4, 5,
                     ops::feed_forward(context, x,
                                       {.weight1 = w1,
                                        .bias1 = {},
                                        .weight2 = w2,
                                        .bias2 = {},
                                        .activation = Activation::sigmoid,
                                        .gate_weight = closed})
                         .to_doubles(*machine.backend)};
  const HostMatrix linear{
      4, 5, ops::linear(context, ops::linear(context, x, w1, {}), w2, {}).to_doubles(*machine.backend)};
  EXPECT_LT(difference(scaled_and_moved(y, 2, 0), linear), 1e-12);
}

}  // namespace
}  // namespace sixfold
