#include "metrics/alignment_errors.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "error_message.h"

namespace sixfold {
namespace {

TEST(WordLinks, AreReadAndWritten) {
  const GoldLinks links = parse_word_links(" 0-1\t2p0 10-11 ", "gold:3");
  EXPECT_EQ(links.sure, (WordLinks{{0, 1}, {10, 11}}));
  EXPECT_EQ(links.possible, (WordLinks{{2, 0}}));
  EXPECT_EQ(to_pharaoh(links.sure), "0-1 10-11");
  EXPECT_EQ(to_pharaoh({}), "");
  EXPECT_TRUE(parse_word_links("", "x").sure.empty());
  for (const char* wrong :
       {"0", "0-", "-1", "0-1-2", "a-b", "0--1", "-1-0", "0_1", "0-99999999999", "0p", "+1-0"})
    EXPECT_EQ(error_message([&] { parse_word_links(std::string("0-0 ") + wrong, "gold:3"); }),
              std::string("gold:3: expected links between words, such as 0-0 1-2, found '") + wrong + "'");
  for (const char* twice : {"0-0 1-1 0-0", "0-0 1-1 0p0"})
    EXPECT_EQ(error_message([&] { parse_word_links(twice, "gold:3"); }), "gold:3: the link 0-0 is there twice");
}

TEST(AlignmentErrors, AreThoseOfOchAndNey) {
  AlignmentErrors errors;
  EXPECT_EQ(errors.rate(), 0);
  errors.add({{0, 0}, {1, 2}, {3, 3}}, parse_word_links("0-0 1-1 1p2", "gold"));
  // 3 found, 2 sure; of those found 1 is sure, and 2 are sure or possible.
  EXPECT_DOUBLE_EQ(errors.rate(), 1 - 3.0 / 5);
  EXPECT_DOUBLE_EQ(errors.precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(errors.recall(), 1.0 / 2);
  errors.add({{0, 0}}, parse_word_links("0-0", "gold"));
  EXPECT_DOUBLE_EQ(errors.rate(), 1 - 5.0 / 7);
}

}  // namespace
}  // namespace sixfold
