#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backend/backend.h"
#include "backend/dropout.h"
#include "backend/matrix.h"
#include "error_message.h"

namespace sixfold {
namespace {

template <class T>
class Reference : public testing::Test {
 protected:
  std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Reference, Types);

/// Dropout of half of everything, each row a position of its own in one sentence.
struct HalfDropped {
  std::vector<int32_t> sentence = std::vector<int32_t>(16, 4), position;
  Dropout dropout;

  HalfDropped() {
    for (int i = 0; i < 16; ++i) position.push_back(i);
    dropout = {.sentence = operand(sentence),
               .position = operand(position),
               .seed = 11,
               .update = 2,
               .module = 9,
               .threshold = 32768};
  }
};

TYPED_TEST(Reference, MatmulMultipliesInAllFourOrientations) {
  using M = Matrix<TypeParam>;
  M a{{1, 2, 3}, {4, 5, 6}}, a_transposed{{1, 4}, {2, 5}, {3, 6}};
  M b{{1, 0}, {2, -1}, {0, 3}}, b_transposed{{1, 2, 0}, {0, -1, 3}};
  const M expected{{5, 7}, {14, 13}};
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true}) {
      const View right = transpose_b ? b_transposed.view() : b.view();
      kernel::Matmul product{.result = {},
                             .a = transpose_a ? a_transposed.view() : a.view(),
                             .b = right,
                             .transpose_a = transpose_a,
                             .transpose_b = transpose_b};
      M result(2, 2);
      product.result = result.view();
      this->backend->run(product);
      expect_close(result, expected, 0);

      const auto packed = this->backend->pack(right, transpose_b);
      M from_packed(2, 2);
      product.result = from_packed.view();
      product.packed_b = packed.get();
      this->backend->run(product);
      expect_close(from_packed, expected, 0);
    }
}

TYPED_TEST(Reference, MatmulAccumulatesThenAddsBiasThenClips) {
  using M = Matrix<TypeParam>;
  M a{{1}, {2}}, b{{1, -1, 1}}, bias{{0, -1, 0.5}}, active{{1, 1, 0}, {1, 1, 1}};
  M result{{10, 10, -2}, {10, 1, -9}};
  kernel::Matmul product{.result = result.view(), .a = a.view(), .b = b.view(), .accumulate = true};
  product.epilogue = {.bias = bias.view(), .relu = true, .relu_of = {}};
  this->backend->run(product);
  expect_close(result, M{{11, 8, 0}, {12, 0, 0}}, 0);

  product.epilogue = {.bias = {}, .relu_of = active.view()};
  this->backend->run(product);
  expect_close(result, M{{12, 7, 0}, {14, -2, 2}}, 0);
}

TYPED_TEST(Reference, MatmulOverNothingIsZero) {
  Matrix<TypeParam> a(2, 0), b(0, 2), result{{5, 5}, {5, 5}};
  this->backend->run(kernel::Matmul{.result = result.view(), .a = a.view(), .b = b.view()});
  expect_close(result, {{0, 0}, {0, 0}}, 0);
}

TYPED_TEST(Reference, ElementwiseKernels) {
  using M = Matrix<TypeParam>;
  M a{{1, 2}, {3, 4}}, b{{10, 20}, {30, 40}}, out(2, 2);
  this->backend->run(kernel::Fill{out.view(), 1.5});
  expect_close(out, M{{1.5, 1.5}, {1.5, 1.5}}, 0);
  this->backend->run(kernel::Add{out.view(), a.view(), b.view()});
  expect_close(out, M{{11, 22}, {33, 44}}, 0);
  this->backend->run(kernel::Add{out.view(), out.view(), b.view()});
  expect_close(out, M{{21, 42}, {63, 84}}, 0);
  this->backend->run(kernel::Scale{out.view(), out.view(), 0.5});
  expect_close(out, M{{10.5, 21}, {31.5, 42}}, 0);
  this->backend->run(kernel::Swap{a.view(), b.view()});
  expect_close(a, M{{10, 20}, {30, 40}}, 0);
  expect_close(b, M{{1, 2}, {3, 4}}, 0);
}

TYPED_TEST(Reference, CopyRowsScatters) {
  Matrix<TypeParam> x{{1, 2}, {3, 4}}, out(4, 2);
  const std::vector<int32_t> rows{3, 1};
  this->backend->run(kernel::CopyRows{out.view(), operand(rows), x.view()});
  expect_close(out, {{0, 0}, {3, 4}, {0, 0}, {1, 2}}, 0);
}

TYPED_TEST(Reference, DropoutDropsOrScales) {
  const HalfDropped half;
  auto x = Matrix<TypeParam>::normal(8, 24, 1);
  auto expected = x;
  int dropped = 0;
  for (int64_t r = 0; r < 8; ++r)
    for (int64_t c = 0; c < 24; ++c) {
      const bool kept = keeps(half.dropout, r, c);
      dropped += !kept;
      expected.at(r, c) = kept ? 2 * x.at(r, c) : 0;
    }
  EXPECT_GT(dropped, 50);
  EXPECT_LT(dropped, 142);
  this->backend->run(kernel::ApplyDropout{x.view(), x.view(), half.dropout});
  expect_close(x, expected, 0);
}

TYPED_TEST(Reference, EmbedScalesTheTokenAndAddsThePosition) {
  using M = Matrix<TypeParam>;
  M table{{1, 2}, {3, 4}, {5, 6}}, positions{{0.5, 0.25}, {-1, -2}}, out(3, 2);
  const std::vector<int32_t> ids{2, 0, 2}, position{0, 0, 1};
  const kernel::Embed embed{.out = out.view(),
                            .table = table.view(),
                            .ids = operand(ids),
                            .position = operand(position),
                            .positions = positions.view(),
                            .scale = 10,
                            .dropout = {}};
  this->backend->run(embed);
  expect_close(out, M{{50.5, 60.25}, {10.5, 20.25}, {49, 58}}, 0);

  M grad_out{{1, 2}, {3, 4}, {5, 6}}, grad_table{{0, 0}, {7, 7}, {100, 0}};
  this->backend->run(kernel::EmbedGradient{grad_out.view(), grad_table.view(), operand(ids), 10, {}});
  expect_close(grad_table, M{{30, 40}, {7, 7}, {160, 80}}, 0);
}

TYPED_TEST(Reference, EmbedDropsTheSumAndItsGradientAlike) {
  using M = Matrix<TypeParam>;
  const HalfDropped half;
  M table = M::normal(1, 16, 1), positions = M::normal(1, 16, 2), out(1, 16), grad_table(1, 16);
  M grad_out(1, 16), expected(1, 16), expected_gradient(1, 16);
  const std::vector<int32_t> zero{0};
  const kernel::Embed embed{.out = out.view(),
                            .table = table.view(),
                            .ids = operand(zero),
                            .position = operand(zero),
                            .positions = positions.view(),
                            .scale = 3,
                            .dropout = half.dropout};
  for (int c = 0; c < 16; ++c) {
    const bool kept = keeps(half.dropout, 0, c);
    grad_out.at(0, c) = 1;
    expected.at(0, c) = kept ? 2 * (3 * table.at(0, c) + positions.at(0, c)) : 0;
    expected_gradient.at(0, c) = kept ? 6 : 0;
  }
  this->backend->run(embed);
  this->backend->run(kernel::EmbedGradient{grad_out.view(), grad_table.view(), operand(zero), 3, half.dropout});
  expect_close(out, expected, this->tolerance);
  expect_close(grad_table, expected_gradient, 0);
}

TYPED_TEST(Reference, ResidualNormNormalizesTheSum) {
  using M = Matrix<TypeParam>;
  M x{{1, 2, 3, 4}}, y{{0, 1, 2, 3}}, statistics(1, 2), out(1, 4);
  M weight{{1, 1, 2, 1}}, bias{{0, 0, 0, 10}};
  // sum: 1 3 5 7, mean 4, variance 5; with epsilon 4 the deviation is 3
  kernel::ResidualNorm norm{.x = x.view(),
                            .y = y.view(),
                            .sum = y.view(),
                            .statistics = statistics.view(),
                            .weight = weight.view(),
                            .bias = bias.view(),
                            .out = out.view(),
                            .epsilon = 4,
                            .dropout = {}};
  this->backend->run(norm);
  expect_close(y, M{{1, 3, 5, 7}}, 0);
  expect_close(statistics, M{{4, TypeParam(1) / 3}}, 0);
  expect_close(out, M{{-1, TypeParam(-1) / 3, TypeParam(2) / 3, 11}}, this->tolerance);

  norm.x = y.view();
  norm.y = norm.sum = norm.statistics = {};
  M plain(1, 4);
  norm.out = plain.view();
  this->backend->run(norm);
  EXPECT_EQ(plain, out);
}

TYPED_TEST(Reference, ResidualNormOfEqualNumbersIsTheBias) {
  Matrix<TypeParam> x{{3, 3, 3}}, weight{{1, 2, 3}}, bias{{4, 5, 6}}, out(1, 3);
  this->backend->run(kernel::ResidualNorm{.x = x.view(),
                                          .y = {},
                                          .sum = {},
                                          .statistics = {},
                                          .weight = weight.view(),
                                          .bias = bias.view(),
                                          .out = out.view(),
                                          .dropout = {}});
  expect_close(out, {{4, 5, 6}}, 1e-4);
}

/// A residual norm and the loss that its gradient is checked on.
struct NormCase {
  using M = Matrix<double>;
  HalfDropped half;
  std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  M x = M::normal(4, 6, 1), y = M::normal(4, 6, 2), weight = M::normal(1, 6, 3), bias = M::normal(1, 6, 4);
  M grad_out = M::normal(4, 6, 5), sum = M(4, 6), statistics = M(4, 2), out = M(4, 6);

  double loss() {
    backend->run(kernel::ResidualNorm{.x = x.view(),
                                      .y = y.view(),
                                      .sum = sum.view(),
                                      .statistics = statistics.view(),
                                      .weight = weight.view(),
                                      .bias = bias.view(),
                                      .out = out.view(),
                                      .dropout = half.dropout});
    return inner_product(out, grad_out);
  }
};

TEST(ReferenceGradient, ResidualNorm) {
  NormCase norm;
  const auto loss = [&] { return norm.loss(); };
  Matrix<double> grad_x(4, 6), grad_y(4, 6), grad_weight(1, 6), grad_bias(1, 6);
  loss();
  kernel::ResidualNormGradient gradient{.grad_out = norm.grad_out.view(),
                                        .sum = norm.sum.view(),
                                        .statistics = norm.statistics.view(),
                                        .weight = norm.weight.view(),
                                        .grad_x = grad_x.view(),
                                        .grad_y = grad_y.view(),
                                        .grad_weight = grad_weight.view(),
                                        .grad_bias = grad_bias.view(),
                                        .dropout = norm.half.dropout};
  norm.backend->run(gradient);
  expect_close(grad_x, numeric_gradient(norm.x, loss), 1e-8);
  expect_close(grad_y, numeric_gradient(norm.y, loss), 1e-8);
  expect_close(grad_weight, numeric_gradient(norm.weight, loss), 1e-8);
  expect_close(grad_bias, numeric_gradient(norm.bias, loss), 1e-8);

  auto twice = grad_x;
  norm.backend->run(kernel::Add{twice.view(), grad_x.view(), grad_x.view()});
  gradient.accumulate_x = true;
  gradient.grad_y = gradient.grad_weight = gradient.grad_bias = {};
  norm.loss();
  norm.backend->run(gradient);
  EXPECT_EQ(grad_x, twice);
}

TYPED_TEST(Reference, CrossEntropyAndLogProbability) {
  using M = Matrix<TypeParam>;
  const auto log2 = static_cast<TypeParam>(std::log(2.0));
  // probabilities 1/2 1/4 1/4 in the first row; the second would overflow without care
  M logits{{1 + 2 * log2, 1 + log2, 1 + log2}, {1000, 1000, 1000 + log2}}, losses(1, 2), log_probs(1, 2);
  const std::vector<int32_t> targets{1, 2};
  this->backend->run(kernel::LogProbability{log_probs.view(), logits.view(), operand(targets)});
  const double close = std::is_same_v<TypeParam, float> ? 1e-4 : 1e-12;  // to 1000 + log2
  expect_close(log_probs, M{{-2 * log2, -log2}}, close);

  kernel::CrossEntropy entropy{.logits = logits.view(), .targets = operand(targets), .losses = losses.view()};
  this->backend->run(entropy);
  expect_close(losses, M{{2 * log2, log2}}, close);

  entropy.smoothing = 0.3;
  entropy.scale = 10;
  entropy.gradient = true;
  this->backend->run(entropy);
  // 0.7 * 2 + 0.1 * (1 + 2 + 2) and 0.7 * 1 + 0.1 * (2 + 2 + 1), in log2
  expect_close(losses, M{{TypeParam(1.9) * log2, TypeParam(1.2) * log2}}, close);
  expect_close(logits, M{{4, -5.5, 1.5}, {1.5, 1.5, -3}}, 10 * close);
}

TYPED_TEST(Reference, CrossEntropyIgnoresImpossibleIdsAndShowsNoNumber) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  Matrix<TypeParam> logits{{0, -infinity, 0}, {0, std::numeric_limits<TypeParam>::quiet_NaN(), 0}},
      losses(1, 2);
  const std::vector<int32_t> targets{0, 0};
  this->backend->run(
      kernel::CrossEntropy{.logits = logits.view(), .targets = operand(targets), .losses = losses.view()});
  EXPECT_NEAR(losses.at(0, 0), std::log(2.0), 1e-6);
  EXPECT_TRUE(std::isnan(losses.at(0, 1)));
}

TEST(ReferenceGradient, CrossEntropy) {
  const auto backend = make_backend({.device = "reference"});
  auto logits = Matrix<double>::normal(3, 7, 1);
  Matrix<double> losses(1, 3), factors{{2.5, 2.5, 2.5}};
  const std::vector<int32_t> targets{6, 0, 3};
  kernel::CrossEntropy entropy{.logits = logits.view(),
                               .targets = operand(targets),
                               .losses = losses.view(),
                               .smoothing = 0.1,
                               .scale = 2.5};
  const auto expected = numeric_gradient(logits, [&] {
    backend->run(entropy);
    return inner_product(losses, factors);
  });
  entropy.gradient = true;
  backend->run(entropy);
  expect_close(logits, expected, 1e-9);
}

TYPED_TEST(Reference, TopKSortsAndBreaksTiesById) {
  Matrix<TypeParam> logits{{1, 3, 2, 3, 0}, {5, 5, 5, 5, 5}};
  std::vector<int32_t> ids(6);
  std::vector<float> log_probs(6);
  this->backend->run(kernel::TopK{.logits = logits.view(),
                                  .k = 3,
                                  .ids = {ids.data(), DType::i32, 2, 3, 3},
                                  .log_probs = {log_probs.data(), DType::f32, 2, 3, 3},
                                  .banned = {}});
  EXPECT_EQ(ids, (std::vector<int32_t>{1, 3, 2, 0, 1, 2}));
  const double logsumexp = std::log(std::exp(1) + 2 * std::exp(3) + std::exp(2) + 1);
  const double expected[] = {3 - logsumexp, 3 - logsumexp, 2 - logsumexp,
                             -std::log(5),  -std::log(5),  -std::log(5)};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(log_probs[i], expected[i], 1e-6) << i;
}

TYPED_TEST(Reference, TopKPassesOverBannedIdsThatKeepTheirShare) {
  Matrix<TypeParam> logits{{9, 1, 1}};
  std::vector<int32_t> ids(3);
  std::vector<float> log_probs(3);
  const std::vector<int32_t> banned{0, 1};
  this->backend->run(kernel::TopK{.logits = logits.view(),
                                  .k = 3,
                                  .ids = {ids.data(), DType::i32, 1, 3, 3},
                                  .log_probs = {log_probs.data(), DType::f32, 1, 3, 3},
                                  .banned = operand(banned)});
  EXPECT_EQ(ids, (std::vector<int32_t>{2, 0, 1}));
  EXPECT_NEAR(log_probs[0], 1 - std::log(std::exp(9) + 2 * std::exp(1)), 1e-6);
  EXPECT_EQ(log_probs[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(log_probs[2], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(logits.at(0, 0), 9);
}

TYPED_TEST(Reference, AdamFollowsItsFormula) {
  using M = Matrix<TypeParam>;
  M weight{{1, -2}}, gradient{{4, 0}}, moment1(1, 2), moment2(1, 2), average{{1, -2}};
  kernel::Adam adam{.weight = weight.view(),
                    .gradient = gradient.view(),
                    .moment1 = moment1.view(),
                    .moment2 = moment2.view(),
                    .average = average.view(),
                    .learning_rate = 0.1,
                    .beta1 = 0.5,
                    .beta2 = 0.75,
                    .epsilon = 0,
                    .weight_decay = 0,
                    .average_decay = 0.5,
                    .gradient_scale = 0.5,
                    .step = 1};
  adam.epsilon = 1;  // a first step is gradient / (|gradient| + epsilon)
  this->backend->run(adam);
  expect_close(weight, M{{TypeParam(1 - 0.1 * 2 / 3), -2}}, this->tolerance);
  expect_close(moment1, M{{1, 0}}, 0);
  expect_close(moment2, M{{1, 0}}, 0);
  expect_close(average, M{{TypeParam(1 - 0.1 / 3), -2}}, this->tolerance);

  adam.average = {};
  adam.weight_decay = 0.25;
  adam.step = 2;
  gradient.at(0, 0) = -4;
  const double before = weight.at(0, 0);
  this->backend->run(adam);
  // m = 0.5 - 1, over 1 - 0.25; v = 0.75 + 1, over 1 - 0.5625
  const double step = -0.5 / 0.75 / (std::sqrt(1.75 / 0.4375) + 1) + 0.25 * before;
  expect_close(weight, M{{TypeParam(before - 0.1 * step), TypeParam(-2 + 0.1 * 0.25 * 2)}}, this->tolerance);
  expect_close(average, M{{TypeParam(1 - 0.1 / 3), -2}}, this->tolerance);
}

TEST(ReferenceTypes, OthersAreRefusedByName) {
  const auto backend = make_backend({.device = "reference"});
  const std::string message = error_message([&] { backend->run(kernel::Fill{{.dtype = DType::bf16}, 0}); });
  EXPECT_NE(message.find("BF16"), std::string::npos) << message;
}

}  // namespace
}  // namespace sixfold
