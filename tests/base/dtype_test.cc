#include "base/dtype.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_EQ(name_of(DType::bf16), "BF16");
  EXPECT_EQ(name_of(DType::i64), "I64");
}

TEST(DType, NamesReadBack) {
  for (size_t i = 0; i < dtype_table.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_EQ(dtype_from_name("F8_E4M3"), std::nullopt);
  EXPECT_EQ(dtype_from_name("f32"), std::nullopt);
}

}  // namespace
}  // namespace sixfold
