// MatmulPrecision of the cpu backend: right for every shape, and a row's bits are its own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend/backend.h"
#include "backend/matrix.h"
#include "base/threads.h"
#include "instruction_sets.h"

namespace sixfold {
namespace {

using Floats = Matrix<float>;

// Around the widths of tiles, vectors and blocks.
const std::vector<int64_t> edges{1, 13, 31, 32, 33, 255, 256, 257, 513};

/// Random numbers; drawn once, for to draw them takes longer than to multiply.
Floats random_matrix(int64_t rows, int64_t cols, uint64_t seed) {
  static Floats pool = Floats::normal(1, 65521, 1);
  Floats matrix(rows, cols);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      matrix.at(r, c) = pool.at(0, (static_cast<int64_t>(seed) * 7919 + r * cols + c) % pool.cols());
  return matrix;
}

/// op(a) [m, k] op(b) [k, n] with random operands.
struct Product {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  Floats a, b;

  Product(int64_t rows, int64_t cols, int64_t depth, bool turn_a, bool turn_b)
      : m(rows),
        n(cols),
        k(depth),
        transpose_a(turn_a),
        transpose_b(turn_b),
        a(random_matrix(turn_a ? k : m, turn_a ? m : k, 1)),
        b(random_matrix(turn_b ? n : k, turn_b ? k : n, 2)) {}

  kernel::Matmul matmul(Floats& result) {
    return {.result = result.view(),
            .a = a.view(),
            .b = b.view(),
            .transpose_a = transpose_a,
            .transpose_b = transpose_b};
  }
  Floats result_of(Backend& backend) {
    Floats result = random_matrix(m, n, 3);
    backend.run(matmul(result));
    return result;
  }
  std::string name() const {
    return std::to_string(m) + " x " + std::to_string(k) + (transpose_a ? " (transposed)" : "") + " times " +
           std::to_string(k) + " x " + std::to_string(n) + (transpose_b ? " (transposed)" : "");
  }
};

void expect_near(Floats& actual, Floats& expected, const std::string& what) {
  double error = 0, norm = 0;
  for (int64_t r = 0; r < actual.rows(); ++r)
    for (int64_t c = 0; c < actual.cols(); ++c) {
      error += std::pow(double{actual.at(r, c)} - expected.at(r, c), 2);
      norm += std::pow(double{expected.at(r, c)}, 2);
    }
  EXPECT_LE(std::sqrt(error), 1e-5 * std::sqrt(norm)) << what;
  EXPECT_TRUE(actual.gaps_untouched()) << what;
}

/// Shapes over all edges, m * n * k at most `most`, orientations in turn.
template <class Visit>
void for_products(int64_t most, Visit visit) {
  int turn = 0;
  for (const int64_t m : edges)
    for (const int64_t n : edges)
      for (const int64_t k : edges) {
        if (m * n * k > most) continue;
        Product product(m, n, k, turn & 1, turn & 2);
        visit(product);
        ++turn;
      }
}

TEST(CpuMatmul, AgreesWithTheReference) {
  const auto reference = make_backend({.device = "reference"}), one = make_backend(),
             two = make_backend({.threads = 2});
  for_products(300'000, [&](Product& product) {
    Floats expected = product.result_of(*reference), actual = product.result_of(*one);
    expect_near(actual, expected, product.name());
    EXPECT_TRUE(product.result_of(*two) == actual) << product.name();
  });
}

TEST(CpuMatmul, AccumulatesAndFinishesAsTheReference) {
  const auto reference = make_backend({.device = "reference"}), cpu = make_backend({.threads = 2});
  int turn = 0;
  for_products(200'000, [&](Product& product) {
    auto bias = random_matrix(1, product.n, 4), sign = random_matrix(product.m, product.n, 5);
    const auto run = [&](Backend& backend) {
      Floats result = random_matrix(product.m, product.n, 6);
      kernel::Matmul matmul = product.matmul(result);
      matmul.accumulate = turn & 1;
      if (turn & 2) matmul.epilogue.bias = bias.view();
      matmul.epilogue.relu = turn & 4;
      if (turn & 8) matmul.epilogue.relu_of = sign.view();
      backend.run(matmul);
      return result;
    };
    Floats expected = run(*reference), actual = run(*cpu);
    expect_near(actual, expected, product.name() + ", turn " + std::to_string(turn % 16));
    ++turn;
  });
}

// What makes a packed batch equal its sentences one by one.
TEST(CpuMatmul, ARowsBitsDependOnNoOtherRow) {
  const auto one = make_backend(), two = make_backend({.threads = 2});
  RandomStream random(7, 0);
  for_products(4'500'000, [&](Product& product) {
    Floats whole = product.result_of(*two);
    const auto begin = static_cast<int64_t>(random.below(static_cast<uint32_t>(product.m)));
    const int64_t count = 1 + random.below(static_cast<uint32_t>(product.m - begin));
    Floats part(count, product.n);
    kernel::Matmul matmul = product.matmul(part);
    if (product.transpose_a) {
      matmul.a.data = matmul.a.as<float>() + begin;
      matmul.a.cols = count;
    } else {
      matmul.a = matmul.a.slice_rows(begin, count);
    }
    one->run(matmul);
    for (int64_t r = 0; r < count; ++r)
      ASSERT_EQ(std::memcmp(part.view().row<float>(r), whole.view().row<float>(begin + r),
                            sizeof(float) * static_cast<size_t>(product.n)),
                0)
          << product.name() << ", row " << r << " of " << count << " from " << begin;
  });
}

TEST(CpuMatmul, PackedWeightsGiveTheSameBits) {
  const auto one = make_backend(), two = make_backend({.threads = 2});
  for_products(1'200'000, [&](Product& product) {
    const Floats expected = product.result_of(*one);
    for (const auto& backend : {one.get(), two.get()}) {
      const auto packed = backend->pack(product.b.view(), product.transpose_b);
      Floats result(product.m, product.n);
      kernel::Matmul matmul = product.matmul(result);
      matmul.packed_b = packed.get();
      matmul.b.data = nullptr;  // what was packed stands for it
      backend->run(matmul);
      EXPECT_TRUE(result == expected) << product.name();
    }
  });
}

// A backend may be lent the threads of a pool, and have them taken away.
TEST(CpuMatmul, ThreadsOfAnotherGiveTheSameBits) {
  const auto cpu = make_backend();
  ThreadPool three(3);
  std::vector<Floats> first;
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &three, static_cast<ThreadPool*>(nullptr)}) {
    cpu->use_threads(pool);
    size_t i = 0;
    for (const int64_t rows : {1, 7, 16, 48, 49, 200}) {
      Product product(rows, 513, 300, false, false);
      Floats result = product.result_of(*cpu);
      if (i < first.size())
        EXPECT_TRUE(result == first[i]) << rows;
      else
        first.push_back(std::move(result));
      ++i;
    }
  }
}

// A sum that stops after some rows of k and goes on from there: gradients over several batches.
TEST(CpuMatmul, AccumulatingGoesOnWithTheSameSum) {
  const auto cpu = make_backend({.threads = 2});
  Product product(33, 70, 300, /*transpose_a=*/true, /*transpose_b=*/false);
  const Floats whole = product.result_of(*cpu);
  for (const int64_t cut : {1, 128, 256, 299}) {
    Floats result(33, 70);
    kernel::Matmul first = product.matmul(result), second = first;
    first.a.rows = first.b.rows = cut;
    second.a = second.a.slice_rows(cut, 300 - cut);
    second.b = second.b.slice_rows(cut, 300 - cut);
    second.accumulate = true;
    cpu->run(first);
    cpu->run(second);
    EXPECT_TRUE(result == whole) << cut;
  }
}

TEST(CpuMatmul, OverNothing) {
  const auto cpu = make_backend({.threads = 2});
  Floats a(2, 0), b(0, 3), bias{{1, 2, 3}}, result{{7, 7, 7}, {7, 7, 7}};
  kernel::Matmul matmul{.result = result.view(), .a = a.view(), .b = b.view(), .accumulate = true};
  cpu->run(matmul);
  EXPECT_TRUE(result == (Floats{{7, 7, 7}, {7, 7, 7}}));
  matmul.accumulate = false;
  matmul.epilogue.bias = bias.view();
  cpu->run(matmul);
  EXPECT_TRUE(result == (Floats{{1, 2, 3}, {1, 2, 3}}));

  Floats none(0, 3);
  cpu->run(kernel::Matmul{.result = none.view(), .a = none.view(), .b = Floats(3, 3).view()});
}

TEST(CpuMatmul, OnEveryInstructionSet) {
  const auto reference = make_backend({.device = "reference"});
  for_products(50'000, [&](Product& product) {
    Floats expected = product.result_of(*reference);
    for (const int64_t target : InstructionSet::all()) {
      const InstructionSet set(target);
      Floats actual = product.result_of(*make_backend());
      expect_near(actual, expected, product.name() + " on " + hwy::TargetName(target));
    }
  });
}

}  // namespace
}  // namespace sixfold
