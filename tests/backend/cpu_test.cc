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
      backend.adam({.weight = weight.view(),
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
  const auto reference = make_reference_backend(), one = make_cpu_backend(1), two = make_cpu_backend(2);
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

TEST(CpuSumOfSquares, IsTheSameWithAnyThreads) {
  const auto reference = make_reference_backend(), one = make_cpu_backend(1), two = make_cpu_backend(2);
  for (const int64_t size : {1, 16'384, 16'385, 200'000}) {
    Floats x = flat(size, 1);
    const double sum = one->sum_of_squares(x.view()), expected = reference->sum_of_squares(x.view());
    EXPECT_NEAR(sum, expected, 1e-12 * expected);
    EXPECT_EQ(sum, two->sum_of_squares(x.view()));
  }
}

TEST(CpuElementwise, IsTheReferencesInEveryBit) {
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(2);
  for (const int64_t cols : {1, 15, 16, 33, 512})
    for (const int64_t rows : {1, 7, 300}) {
      auto a = Floats::normal(rows, cols, 1), b = Floats::normal(rows, cols, 2);
      const auto run = [&](Backend& backend) {
        std::vector<Floats> results(6, Floats(rows, cols));
        backend.add(results[0].view(), a.view(), b.view());
        backend.scale(results[1].view(), a.view(), 0.3);
        backend.fill(results[2].view(), 2.5);
        results[3] = a;
        backend.add(results[3].view(), results[3].view(), b.view());  // in place
        std::vector<int32_t> backwards;
        for (int64_t r = rows; r-- > 0;) backwards.push_back(static_cast<int32_t>(r));
        backend.copy_rows(results[4].view(), backwards.data(), a.view());
        backend.column_sum(results[5].view(), a.view(), false);
        backend.column_sum(results[5].view(), b.view(), true);
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
    const auto cpu = make_cpu_backend(threads);
    for (const int64_t rows : {1, 2000}) {  // on the caller alone, and on all
      Floats x(rows, 64), y(rows, 64), identity(64, 64);
      for (int64_t i = 0; i < 64; ++i) identity.at(i, i) = 0.5f;
      cpu->fill(x.view(), smallest);
      cpu->scale(y.view(), x.view(), 0.5);
      EXPECT_TRUE(y == Floats(rows, 64)) << "scale of " << rows << " rows, " << threads << " threads";
      cpu->matmul({.result = y.view(), .a = x.view(), .b = identity.view()});
      EXPECT_TRUE(y == Floats(rows, 64)) << "matmul of " << rows << " rows, " << threads << " threads";
    }
    volatile float caller = smallest;
    EXPECT_NE(caller / 2, 0) << "the caller's arithmetic has changed";
  }
#endif
}

// Keys that lie in no order, as in a cache: the places say which rows they are.
TEST(CpuAttention, KeysThroughPlacesAreTheKeysInOrder) {
  const auto cpu = make_cpu_backend(1);
  auto query = Floats::normal(9, 8, 1), key = Floats::normal(50, 8, 2), value = Floats::normal(50, 6, 3);
  std::vector<int32_t> places{40, 3, 3, 17, 0, 49, 21};
  Floats chosen_keys(7, 8), chosen_values(7, 6);
  for (int64_t j = 0; j < 7; ++j) {
    std::copy_n(key.view().row<float>(places[static_cast<size_t>(j)]), 8, chosen_keys.view().row<float>(j));
    std::copy_n(value.view().row<float>(places[static_cast<size_t>(j)]), 6, chosen_values.view().row<float>(j));
  }
  const std::vector<AttentionSpan> spans{{0, 4, 0, 5}, {4, 5, 2, 5}};
  Floats expected(9, 6), actual(9, 6);
  cpu->attention({.query = query.view(),
                  .key = chosen_keys.view(),
                  .value = chosen_values.view(),
                  .out = expected.view(),
                  .spans = spans,
                  .heads = 2});
  cpu->attention({.query = query.view(),
                  .key = key.view(),
                  .value = value.view(),
                  .out = actual.view(),
                  .spans = spans,
                  .key_rows = places.data(),
                  .heads = 2});
  EXPECT_TRUE(actual == expected);
  EXPECT_TRUE(actual.gaps_untouched());
}

TEST(CpuBackend, NamesItsInstructionSet) {
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    EXPECT_NE(make_cpu_backend(1)->name().find(hwy::TargetName(target)), std::string::npos);
  }
}

}  // namespace
}  // namespace sixfold
