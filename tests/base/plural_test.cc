#include "base/plural.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sixfold {
namespace {

TEST(Plural, OneThingHasNoS) {
  EXPECT_EQ(counted(1, "thread"), "1 thread");
  EXPECT_EQ(counted(size_t{0}, "thread"), "0 threads");
  EXPECT_EQ(counted(int64_t{2}, "thread"), "2 threads");
  EXPECT_EQ(counted(-1, "place"), "-1 places");
}

TEST(Plural, IrregularOnesAreGiven) {
  EXPECT_EQ(counted(1, "vocabulary", "vocabularies"), "1 vocabulary");
  EXPECT_EQ(counted(3, "vocabulary", "vocabularies"), "3 vocabularies");
}

}  // namespace
}  // namespace sixfold
