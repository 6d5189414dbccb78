#include "tasks/translation/measured_lines.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

std::vector<MeasuredLine> lines_of(size_t lines, size_t tokens) {
  return measured_lines({lines, [tokens](size_t) { return std::vector<int32_t>(tokens, 5); }, {}});
}

/// Also where tokens limit them: a text of several languages may have them one after the other.
TEST(MeasuredLines, AreSpreadOverTheWholeText) {
  EXPECT_EQ(lines_of(150, 10).size(), 150u);
  const auto short_lines = lines_of(4000, 20), long_lines = lines_of(800, 100), longest = lines_of(400, 500);
  EXPECT_EQ(short_lines.size(), 1000u);
  EXPECT_EQ(long_lines.size(), 300u);
  EXPECT_EQ(longest.size(), min_measured_lines) << "a measurement needs so many";
  EXPECT_GE(short_lines.back().number, 3990u);
  EXPECT_GE(long_lines.back().number, 795u);
  EXPECT_GE(longest.back().number, 395u);
}

}  // namespace
}  // namespace sixfold
