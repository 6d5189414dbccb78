#include "base/memory.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

TEST(BytesText, HasAUnitThatFitsTheNumber) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(20'480), "20.5 kB");
  EXPECT_EQ(bytes_text(1'280'000), "1.3 MB");
  EXPECT_EQ(bytes_text(134'400'000), "134 MB");
  EXPECT_EQ(bytes_text(24e9), "24.0 GB");
}

}  // namespace
}  // namespace sixfold
