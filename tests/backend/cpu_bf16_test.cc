// MatmulPrecision in bf16, where the processor has them.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/backend.h"
#include "backend/cpu/onednn.h"
#include "backend/matrix.h"
#include "base/error.h"
#include "error_message.h"

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

class CpuBf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_bf16_products()) GTEST_SKIP() << "oneDNN multiplies no bf16 on this processor";
    bf16_ = make_backend({.threads = 2, .products = MatmulPrecision::bf16});
  }
  std::shared_ptr<Backend> bf16_, fp32_ = make_backend();
};

TEST_F(CpuBf16, AreTheProductsOfRoundedNumbers) {
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

TEST_F(CpuBf16, PackedWeightsGiveTheSameBits) {
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
TEST_F(CpuBf16, PackedWeightsEndWithinTheirBytes) {
  Floats b = Floats::normal(65, 33, 1);
  const size_t bytes = bf16_->packed_bytes(b.view(), true);
  ASSERT_EQ(bytes % sizeof(float), 0u);
  std::vector<float> memory(bytes / sizeof(float) + 1, 1.0f);
  const auto weight = bf16_->pack(b.view(), true, memory.data());
  EXPECT_EQ(memory.back(), 1.0f);
}

TEST_F(CpuBf16, BitsDoNotDependOnThreads) {
  Floats a = Floats::normal(1500, 64, 1), b = Floats::normal(64, 80, 2), one(1500, 80), two(1500, 80);
  kernel::Matmul product{.result = one.view(), .a = a.view(), .b = b.view()};
  make_backend({.threads = 1, .products = MatmulPrecision::bf16})->run(product);
  product.result = two.view();
  bf16_->run(product);
  EXPECT_TRUE(one == two);
}

TEST_F(CpuBf16, SmallProductsStayInFp32) {
  Floats a = Floats::normal(5, 20, 1), b = Floats::normal(20, 6, 2), small(5, 6), exact(5, 6);
  kernel::Matmul product{.result = small.view(), .a = a.view(), .b = b.view()};
  bf16_->run(product);
  product.result = exact.view();
  fp32_->run(product);
  EXPECT_TRUE(small == exact);
}

TEST(Bf16Products, WhereThereAreNoneThatIsSaid) {
  if (has_bf16_products()) GTEST_SKIP() << "this processor has them (ONEDNN_MAX_CPU_ISA=AVX2 takes them away)";
  EXPECT_NE(error_message([] {
              make_backend({.threads = 1, .products = MatmulPrecision::bf16});
            }).find("no bf16 products"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
