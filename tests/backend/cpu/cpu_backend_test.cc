// Kernels of the cpu backend that no op's case reaches, or whose promise is more than agreement.
#include <gtest/gtest.h>

#include <limits>

#include "backend/backend.h"
#include "backend/matrix.h"
#include "instruction_sets.h"

namespace sixfold {
namespace {

using Floats = Matrix<float>;

/// A matrix without gaps: flat arrays are such.
Floats flat(int64_t size, uint64_t seed) {
  Floats matrix(1, size, 0);
  RandomStream random(seed, 0);
  for (int64_t i = 0; i < size; ++i) matrix.at(0, i) = static_cast<float>(random.normal());
  return matrix;
}

/// The state of an optimizer over random weights.
struct AdamState {
  Floats weight, gradient, moment1, moment2, average;

  explicit AdamState(int64_t size)
      : weight(flat(size, 1)),
        gradient(flat(size, 2)),
        moment1(1, size, 0),
        moment2(1, size, 0),
        average(flat(size, 3)) {}
  void step(Backend& backend, bool averaged) {
    for (int step = 1; step <= 3; ++step)
      backend.run(kernel::Adam{.weight = weight.view(),
                               .gradient = gradient.view(),
                               .moment1 = moment1.view(),
                               .moment2 = moment2.view(),
                               .average = averaged ? average.view() : View{},
                               .learning_rate = 0.01 * step,
                               .beta1 = 0.9,
                               .beta2 = 0.98,
                               .epsilon = 1e-9,
                               .weight_decay = 0.1,
                               .average_decay = 0.99,
                               .gradient_scale = 0.5,
                               .step = step});
  }
};

TEST(CpuAdam, AgreesWithTheReference) {
  const auto reference = make_backend({.device = "reference"}), one = make_backend(),
             two = make_backend({.threads = 2});
  for (const bool averaged : {false, true})
    for (const int64_t size : {1, 15, 16, 17, 1000, 70'001}) {
      AdamState expected(size), actual(size), threaded(size);
      expected.step(*reference, averaged);
      actual.step(*one, averaged);
      threaded.step(*two, averaged);
      expect_close(actual.weight, expected.weight, 1e-6);
      expect_close(actual.moment1, expected.moment1, 1e-6);
      expect_close(actual.moment2, expected.moment2, 1e-6);
      expect_close(actual.average, expected.average, 1e-6);
      EXPECT_TRUE(threaded.weight == actual.weight);
      EXPECT_TRUE(threaded.average == actual.average);
      EXPECT_EQ(averaged, !(actual.average == flat(size, 3)));
    }
}

/// The state of Sgd and of Adafactor over random weights of which the gradient of row 1 is zero.
struct OtherState {
  Floats weight, gradient, velocity, average, rows, columns, squares;

  OtherState(int64_t m, int64_t n)
      : weight(flat(m * n, 1)),
        gradient(flat(m * n, 2)),
        velocity(1, m * n, 0),
        average(flat(m * n, 3)),
        rows(1, m, 0),
        columns(1, n, 0),
        squares(1, m * n, 0) {
    for (int64_t c = 0; m > 1 && c < n; ++c) gradient.at(0, n + c) = 0;
  }
  /// Each number is a choice: with momentum, with an average, ...
  void sgd(Backend& backend, int choices) {
    for (int step = 1; step <= 3; ++step)
      backend.run(kernel::Sgd{.weight = weight.view(),
                              .gradient = gradient.view(),
                              .velocity = choices & 1 ? velocity.view() : View{},
                              .average = choices & 2 ? average.view() : View{},
                              .learning_rate = 0.01 * step,
                              .momentum = 0.9,
                              .weight_decay = 0.1,
                              .average_decay = 0.99,
                              .nesterov = (choices & 4) != 0,
                              .gradient_scale = 0.5});
  }
  void adafactor(Backend& backend, int choices, int64_t m, int64_t n) {
    View matrix = weight.view(), changes = gradient.view();
    matrix.rows = changes.rows = m;
    matrix.cols = changes.cols = matrix.stride = changes.stride = n;
    const bool factored = m > 1 && n > 1;
    for (int step = 1; step <= 3; ++step)
      backend.run(kernel::Adafactor{.weight = matrix,
                                    .gradient = changes,
                                    .rows = factored ? rows.view() : View{},
                                    .columns = factored ? columns.view() : View{},
                                    .squares = factored ? View{} : squares.view(),
                                    .moment1 = choices & 1 ? velocity.view() : View{},
                                    .average = choices & 2 ? average.view() : View{},
                                    .learning_rate = 0.01 * step,
                                    .beta1 = 0.8,
                                    .beta2 = 1 - std::pow(step, -0.8),
                                    .clip_threshold = 0.9,
                                    .weight_decay = 0.1,
                                    .average_decay = 0.99,
                                    .scale_parameter = (choices & 4) != 0,
                                    .gradient_scale = 0.5});
  }
};

void expect_same_bits(OtherState& a, OtherState& b) {
  for (Floats OtherState::*part : {&OtherState::weight, &OtherState::velocity, &OtherState::average,
                                   &OtherState::rows, &OtherState::columns, &OtherState::squares})
    EXPECT_TRUE(a.*part == b.*part);
}

void expect_agrees(OtherState& actual, OtherState& expected) {
  expect_close(actual.weight, expected.weight, 2e-6);
  expect_close(actual.velocity, expected.velocity, 2e-6);
  expect_close(actual.average, expected.average, 2e-6);
  expect_close(actual.rows, expected.rows, 2e-6);
  expect_close(actual.columns, expected.columns, 2e-6);
  expect_close(actual.squares, expected.squares, 2e-6);
}

TEST(CpuSgd, AgreesWithTheReference) {
  const auto reference = make_backend({.device = "reference"}), one = make_backend(),
             two = make_backend({.threads = 2});
  for (int choices = 0; choices < 8; ++choices)
    for (const int64_t size : {1, 15, 16, 17, 1000, 70'001}) {
      OtherState expected(1, size), actual(1, size), threaded(1, size);
      expected.sgd(*reference, choices);
      actual.sgd(*one, choices);
      threaded.sgd(*two, choices);
      expect_agrees(actual, expected);
      expect_same_bits(actual, threaded);
    }
}

TEST(CpuAdafactor, AgreesWithTheReference) {
  const auto reference = make_backend({.device = "reference"}), one = make_backend(),
             two = make_backend({.threads = 2});
  for (int choices = 0; choices < 8; ++choices)
    for (const auto& [m, n] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {1, 17}, {1, 5000}, {70, 1}, {2, 2}, {3, 1000}, {65, 33}, {200, 16}, {3000, 31}}) {
      SCOPED_TRACE(testing::Message() << choices << ": " << m << " x " << n);
      OtherState expected(m, n), actual(m, n), threaded(m, n);
      expected.adafactor(*reference, choices, m, n);
      actual.adafactor(*one, choices, m, n);
      threaded.adafactor(*two, choices, m, n);
      expect_agrees(actual, expected);
      expect_same_bits(actual, threaded);
    }
}

TEST(CpuBlockSquares, AreTheSameWithAnyThreads) {
  const auto reference = make_backend({.device = "reference"}), one = make_backend(),
             two = make_backend({.threads = 2});
  for (const int64_t size : {1, 16'384, 16'385, 200'000}) {
    Floats x = flat(size, 1);
    const auto squares = [&](Backend& backend) {
      std::vector<double> sums(static_cast<size_t>(kernel::BlockSquares::blocks(size)));
      backend.run(kernel::BlockSquares{x.view(), {sums.data(), std::ssize(sums)}});
      return sums;
    };
    const auto sums = squares(*one), expected = squares(*reference);
    for (size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], expected[i], 1e-12 * expected[i]);
    EXPECT_EQ(sums, squares(*two));
  }
}

TEST(CpuElementwise, IsTheReferencesInEveryBit) {
  const auto reference = make_backend({.device = "reference"}), cpu = make_backend({.threads = 2});
  for (const int64_t cols : {1, 15, 16, 33, 512})
    for (const int64_t rows : {1, 7, 300}) {
      auto a = Floats::normal(rows, cols, 1), b = Floats::normal(rows, cols, 2);
      const auto run = [&](Backend& backend) {
        std::vector<Floats> results(6, Floats(rows, cols));
        backend.run(kernel::Add{results[0].view(), a.view(), b.view()});
        backend.run(kernel::Scale{results[1].view(), a.view(), 0.3});
        backend.run(kernel::Fill{results[2].view(), 2.5});
        results[3] = a;
        backend.run(kernel::Add{results[3].view(), results[3].view(), b.view()});  // in place
        std::vector<int32_t> backwards;
        for (int64_t r = rows; r-- > 0;) backwards.push_back(static_cast<int32_t>(r));
        backend.run(kernel::CopyRows{results[4].view(), operand(backwards), a.view()});
        backend.run(kernel::ColumnSum{results[5].view(), a.view(), false});
        backend.run(kernel::ColumnSum{results[5].view(), b.view(), true});
        return results;
      };
      auto actual = run(*cpu);
      EXPECT_TRUE(actual == run(*reference)) << rows << " x " << cols;
      for (auto& result : actual) EXPECT_TRUE(result.gaps_untouched());
    }
}

// A thread that takes subnormal numbers for zero beside one that does not would make results depend on who did
// the work.
TEST(CpuBackend, SubnormalNumbersAreZeroInEveryThread) {
#if defined(__x86_64__)
  const float smallest = std::numeric_limits<float>::min();
  for (const int threads : {1, 2}) {
    const auto cpu = make_backend({.threads = threads});
    for (const int64_t rows : {1, 2000}) {  // on the caller alone, and on all
      Floats x(rows, 64), y(rows, 64), identity(64, 64);
      for (int64_t i = 0; i < 64; ++i) identity.at(i, i) = 0.5f;
      cpu->run(kernel::Fill{x.view(), smallest});
      cpu->run(kernel::Scale{y.view(), x.view(), 0.5});
      EXPECT_TRUE(y == Floats(rows, 64)) << "scale of " << rows << " rows, " << threads << " threads";
      cpu->run(kernel::Matmul{.result = y.view(), .a = x.view(), .b = identity.view()});
      EXPECT_TRUE(y == Floats(rows, 64)) << "matmul of " << rows << " rows, " << threads << " threads";
    }
    volatile float caller = smallest;
    EXPECT_NE(caller / 2, 0) << "the caller's arithmetic has changed";
  }
#endif
}

// Keys that lie in no order, as in a cache: the places say which rows they are.
TEST(CpuAttention, KeysThroughPlacesAreTheKeysInOrder) {
  const auto cpu = make_backend();
  auto query = Floats::normal(9, 8, 1), key = Floats::normal(50, 8, 2), value = Floats::normal(50, 6, 3);
  std::vector<int32_t> places{40, 3, 3, 17, 0, 49, 21};
  Floats chosen_keys(7, 8), chosen_values(7, 6);
  for (int64_t j = 0; j < 7; ++j) {
    std::copy_n(key.view().row<float>(places[static_cast<size_t>(j)]), 8, chosen_keys.view().row<float>(j));
    std::copy_n(value.view().row<float>(places[static_cast<size_t>(j)]), 6, chosen_values.view().row<float>(j));
  }
  const std::vector<AttentionSpan> spans{{0, 4, 0, 5}, {4, 5, 2, 5}};
  Floats expected(9, 6), actual(9, 6);
  cpu->run(kernel::Attention{.query = query.view(),
                             .key = chosen_keys.view(),
                             .value = chosen_values.view(),
                             .out = expected.view(),
                             .spans = spans,
                             .device_spans = operand(spans),
                             .heads = 2});
  cpu->run(kernel::Attention{.query = query.view(),
                             .key = key.view(),
                             .value = value.view(),
                             .out = actual.view(),
                             .spans = spans,
                             .device_spans = operand(spans),
                             .key_rows = operand(places),
                             .heads = 2});
  EXPECT_TRUE(actual == expected);
  EXPECT_TRUE(actual.gaps_untouched());
}

TEST(CpuBackend, NamesItsInstructionSet) {
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    EXPECT_NE(make_backend()->name().find(hwy::TargetName(target)), std::string::npos);
  }
}

/// The kernels of the cpu compute in fp32; fp64 is computed by the reference instead of misread.
TEST(CpuBackend, ComputesInFp64Too) {
  Matrix<double> x(3, 5, 0);
  for (int64_t i = 0; i < 15; ++i) x.at(i / 5, i % 5) = 1.0 / static_cast<double>(i + 3);
  Matrix<double> scaled(3, 5), sum(3, 5);
  const auto backend = make_backend();
  backend->run(kernel::Scale{scaled.view(), x.view(), 100});
  backend->run(kernel::Add{sum.view(), x.view(), scaled.view()});
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(scaled.at(i / 5, i % 5), x.at(i / 5, i % 5) * 100);
    EXPECT_EQ(sum.at(i / 5, i % 5), x.at(i / 5, i % 5) + x.at(i / 5, i % 5) * 100);
  }
}

}  // namespace
}  // namespace sixfold
