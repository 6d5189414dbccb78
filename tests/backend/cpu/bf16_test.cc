// MatmulPrecision in bf16, where the processor has them.
#include "backend/cpu/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "backend/backend.h"
#include "backend/matrix.h"
#include "base/error.h"
#include "error_message.h"
#include "instruction_sets.h"

namespace sixfold {
namespace {

using Floats = Matrix<float>;

/// To the nearest number of 8 significant bits, halves to even.
float rounded(float x) {
  int exponent;
  const float mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(mantissa * 256), exponent - 8);
}

Floats rounded(Floats x) {
  for (int64_t r = 0; r < x.rows(); ++r)
    for (int64_t c = 0; c < x.cols(); ++c) x.at(r, c) = rounded(x.at(r, c));
  return x;
}

/// An instruction set that has a bf16 kernel of its own.
struct Bf16Set {
  const char* name;
  int64_t targets;
};

class CpuBf16 : public testing::TestWithParam<Bf16Set> {
 protected:
  void SetUp() override {
    set_.emplace(GetParam().targets);
    if (std::string_view(best_bf16_kernel().name) != GetParam().name)
      GTEST_SKIP() << "this processor has no bf16 products by " << GetParam().name;
    bf16_ = make_backend({.threads = 2, .products = MatmulPrecision::bf16});
  }
  std::optional<InstructionSet> set_;
  std::shared_ptr<Backend> bf16_, fp32_ = make_backend();
};

INSTANTIATE_TEST_SUITE_P(, CpuBf16,
                         testing::Values(Bf16Set{"AMX", HWY_AVX3_DL | HWY_AVX3},
                                         Bf16Set{"AVX512-BF16", HWY_AVX3}),
                         [](const auto& set) { return set.index == 0 ? "Amx" : "Avx512"; });

TEST_P(CpuBf16, AreTheProductsOfRoundedNumbers) {
  for (const auto& [m, n, k] : {std::tuple(70, 90, 100), std::tuple(1300, 33, 65), std::tuple(3, 1000, 257)})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(fmt::format("{} x {} x {}, {} {} {}", m, n, k, transpose_a, transpose_b, accumulate));
          Floats a = Floats::normal(transpose_a ? k : m, transpose_a ? m : k, 1);
          Floats b = Floats::normal(transpose_b ? n : k, transpose_b ? k : n, 2);
          Floats bias = Floats::normal(1, n, 3), sign = Floats::normal(m, n, 4);
          Floats actual = Floats::normal(m, n, 5), expected = actual;
          kernel::Matmul product{.result = actual.view(),
                                 .a = a.view(),
                                 .b = b.view(),
                                 .transpose_a = transpose_a,
                                 .transpose_b = transpose_b,
                                 .accumulate = accumulate,
                                 .epilogue = {.bias = bias.view(), .relu = true, .relu_of = sign.view()}};
          bf16_->run(product);
          Floats a8 = rounded(a), b8 = rounded(b);
          product.result = expected.view(), product.a = a8.view(), product.b = b8.view();
          fp32_->run(product);
          expect_close(actual, expected, 1e-3);
        }
}

TEST_P(CpuBf16, PackedWeightsGiveTheSameBits) {
  Floats a = Floats::normal(50, 128, 1), b = Floats::normal(96, 128, 2), plain(50, 96), packed(50, 96);
  kernel::Matmul product{.result = plain.view(), .a = a.view(), .b = b.view(), .transpose_b = true};
  bf16_->run(product);
  std::vector<float> memory(bf16_->packed_bytes(b.view(), true) / sizeof(float) + 1);
  for (void* where : {static_cast<void*>(nullptr), static_cast<void*>(memory.data())}) {
    const auto weight = bf16_->pack(b.view(), true, where);
    product.result = packed.view();
    product.packed_b = weight.get();
    bf16_->run(product);
    EXPECT_TRUE(packed == plain);
  }
}

/// Callers keep packed weights in tensors of fp32.
TEST_P(CpuBf16, PackedWeightsEndWithinTheirBytes) {
  Floats b = Floats::normal(65, 33, 1);
  const size_t bytes = bf16_->packed_bytes(b.view(), true);
  ASSERT_EQ(bytes % sizeof(float), 0u);
  std::vector<float> memory(bytes / sizeof(float) + 1, 1.0f);
  const auto weight = bf16_->pack(b.view(), true, memory.data());
  EXPECT_EQ(memory.back(), 1.0f);
}

TEST_P(CpuBf16, BitsDoNotDependOnThreads) {
  Floats a = Floats::normal(1500, 64, 1), b = Floats::normal(64, 80, 2), one(1500, 80), two(1500, 80);
  kernel::Matmul product{.result = one.view(), .a = a.view(), .b = b.view()};
  make_backend({.threads = 1, .products = MatmulPrecision::bf16})->run(product);
  product.result = two.view();
  bf16_->run(product);
  EXPECT_TRUE(one == two);
}

TEST_P(CpuBf16, SmallProductsStayInFp32) {
  Floats a = Floats::normal(5, 20, 1), b = Floats::normal(20, 6, 2), small(5, 6), exact(5, 6);
  kernel::Matmul product{.result = small.view(), .a = a.view(), .b = b.view()};
  bf16_->run(product);
  product.result = exact.view();
  fp32_->run(product);
  EXPECT_TRUE(small == exact);
}

/// The bits of a row depend on no other row, nor on its place.
TEST_P(CpuBf16, BitsDoNotDependOnOtherRows) {
  Floats a = Floats::normal(300, 700, 1), b = Floats::normal(90, 700, 2), all(300, 90);
  kernel::Matmul product{.result = all.view(), .a = a.view(), .b = b.view(), .transpose_b = true};
  bf16_->run(product);
  for (const int64_t row : {0, 1, 17, 299}) {
    Floats one(1, 90);
    product.result = one.view();
    product.a = a.view().slice_rows(row, 1);
    bf16_->run(product);
    for (int64_t c = 0; c < 90; ++c) ASSERT_EQ(one.at(0, c), all.at(row, c)) << row << " " << c;
  }
}

/// Rows of a matrix that is wider than an operand or the result, which may not be touched beside them.
TEST_P(CpuBf16, TakesPartsOfRows) {
  Floats a = Floats::normal(70, 200, 1), b = Floats::normal(100, 150, 2), c = Floats::normal(70, 120, 3);
  Floats before = c, expected(70, 100);
  const auto part = [](const View& x, int64_t cols) { return x.slice_cols(0, cols); };
  kernel::Matmul product{
      .result = part(c.view(), 100), .a = part(a.view(), 130), .b = part(b.view(), 130), .transpose_b = true};
  bf16_->run(product);
  Floats a8 = rounded(a), b8 = rounded(b);
  product.result = expected.view(), product.a = part(a8.view(), 130), product.b = part(b8.view(), 130);
  fp32_->run(product);
  for (int64_t r = 0; r < 70; ++r)
    for (int64_t i = 0; i < 120; ++i)
      if (i < 100)
        ASSERT_NEAR(c.at(r, i), expected.at(r, i), 1e-3);
      else
        ASSERT_EQ(c.at(r, i), before.at(r, i));
}

TEST_P(CpuBf16, SumsOverNoTokens) {
  Floats a(0, 70), b(0, 80), c = Floats::normal(70, 80, 1), zero(70, 80);
  const Floats before = c;
  kernel::Matmul product{
      .result = c.view(), .a = a.view(), .b = b.view(), .transpose_a = true, .accumulate = true};
  bf16_->run(product);
  EXPECT_TRUE(c == before);
  product.accumulate = false;
  bf16_->run(product);
  EXPECT_TRUE(c == zero);
}

TEST_P(CpuBf16, NotANumberStaysSo) {
  Floats a = Floats::normal(40, 64, 1), b = Floats::normal(64, 64, 2), c(40, 64);
  a.at(3, 5) = std::numeric_limits<float>::quiet_NaN();
  a.at(4, 5) = std::numeric_limits<float>::infinity();
  kernel::Matmul product{.result = c.view(), .a = a.view(), .b = b.view()};
  bf16_->run(product);
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_TRUE(std::isnan(c.at(3, i)));
    EXPECT_TRUE(std::isinf(c.at(4, i)));
    EXPECT_TRUE(std::isfinite(c.at(5, i)));
  }
}

TEST(Bf16Products, WhereThereAreNoneThatIsSaid) {
  const InstructionSet set(HWY_AVX2);
  EXPECT_FALSE(best_bf16_kernel());
  EXPECT_NE(error_message([] {
              make_backend({.threads = 1, .products = MatmulPrecision::bf16});
            }).find("no bf16 products"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
