#include "train/precision.h"

#include <gtest/gtest.h>

#include "backend/backend.h"

namespace sixfold {
namespace {

TEST(LeastBf16Width, IsThatOfTheTable) {
  EXPECT_EQ(min_bf16_width({"GenuineIntel", 6, 143, "AMX"}), 128);
  EXPECT_EQ(min_bf16_width({"GenuineIntel", 6, 167, "AMX"}), 128)
      << "as in a virtual machine with a number of its own";
  EXPECT_EQ(min_bf16_width({"AuthenticAMD", 25, 17, "AVX512-BF16"}), 64);
  EXPECT_EQ(min_bf16_width({"AuthenticAMD", 26, 2, "AVX512-BF16"}), 128);
}

TEST(LeastBf16Width, ProcessorsThatWereNotMeasuredHaveNone) {
  EXPECT_EQ(min_bf16_width({}), 0);
  EXPECT_EQ(min_bf16_width({"GenuineIntel", 6, 106, ""}), 0);
  EXPECT_EQ(min_bf16_width({"GenuineIntel", 6, 143, ""}), 0) << "as in a virtual machine that hides AMX";
  EXPECT_EQ(min_bf16_width({"AuthenticAMD", 25, 97, "AVX512-BF16"}), 0);
  EXPECT_EQ(min_bf16_width({"GenuineIntel", 7, 1, "AMX"}), 0);
}

TEST(MeasureProductRates, TellsWhatTheProcessorDoes) {
  const ProductRates measured = measure_product_rates(1);
  EXPECT_GT(measured.fp32, 1e8);
  EXPECT_EQ(measured.bf16 > 0, !bf16_instructions().empty());
}

}  // namespace
}  // namespace sixfold
