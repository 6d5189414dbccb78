#include "base/join.h"

#include <gtest/gtest.h>

#include <vector>

namespace sixfold {
namespace {

TEST(Join, PutsSeparatorsBetween) {
  EXPECT_EQ(join(std::vector<int>{}), "");
  EXPECT_EQ(join(std::vector<int>{7}), "7");
  EXPECT_EQ(join(std::vector<std::string>{"a", "", "b"}), "a, , b");
  EXPECT_EQ(join(std::vector<int>{1, -2}, "x"), "1x-2");
}

}  // namespace
}  // namespace sixfold
