#include "text/merges.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

TEST(Merges, ApplyTheLowestRankFirst) {
  Merges merges;
  merges.add(1, 2, 10);
  merges.add(0, 1, 11);
  EXPECT_EQ(merges.apply({0, 1, 2}), (Ids{0, 10}));
  EXPECT_EQ(merges.apply({1, 2, 1, 2}), (Ids{10, 10}));
}

/// Hugging Face's tokenizers read merges into a map: of equal pairs the last counts, with its own rank.
TEST(Merges, TheLastOfEqualPairsCounts) {
  Merges merges;
  merges.add(1, 2, 10);
  merges.add(0, 1, 11);
  merges.add(1, 2, 12);
  EXPECT_EQ(merges.apply({0, 1, 2}), (Ids{11, 2}));
  EXPECT_EQ(merges.apply({1, 2}), (Ids{12}));
}

}  // namespace
}  // namespace sixfold
