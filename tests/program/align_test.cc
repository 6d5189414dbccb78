// sixfold align.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Align : public testing::Test {
 protected:
  Align() {
    ::setenv("HERE", folder_.path().c_str(), 1);
    EXPECT_EQ(sixfold("demo-corpus --output $HERE --pairs 400 --held-out 20 --alignments").status, 0);
  }
  TemporaryFolder folder_;
};

TEST_F(Align, WritesALineForEachPairAndReportsErrors) {
  const Outcome outcome = sixfold(
      "align $HERE/test.en $HERE/test.de $HERE/train.en $HERE/train.de --gold $HERE/test.alignment -o "
      "$HERE/out");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("alignment error rate 0."), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("for 20 pairs"), std::string::npos) << outcome.text;
  const std::string links = read_file(folder_ / "out");
  EXPECT_EQ(std::ranges::count(links, '\n'), 420);
  EXPECT_EQ(links,
            sixfold("align $HERE/test.en $HERE/test.de $HERE/train.en $HERE/train.de 2> /dev/null").text);
}

TEST_F(Align, KeepsLinesInStepWithTheText) {
  write_file_atomically(folder_ / "a", "x y\n\nx\n\xFF\ny\n");
  write_file_atomically(folder_ / "b", "u v\nu\nu\nv\nv\n");
  const Outcome outcome = sixfold("align $HERE/a $HERE/b --invalid-utf8 skip 2> /dev/null");
  EXPECT_EQ(outcome.text, "0-0 1-1\n\n0-0\n\n0-0\n");
  EXPECT_EQ(sixfold("align $HERE/a $HERE/b").status, 2);
}

TEST_F(Align, RefusesWhatDoesNotFit) {
  for (const auto& [gold, expected] :
       {std::pair("0-99\n", "gold:1: the link 0-99 leads beyond the words of the pair"),
        {"0-0\nx\n", "gold:2: expected links between words"},
        {"", "gold: is empty; expected the links of a pair in each line"},
        {"\n\n\n", "gold has 3 lines, but the text has 1 pair"}}) {
    write_file_atomically(folder_ / "one.en", "a b\n");
    write_file_atomically(folder_ / "one.de", "c d\n");
    write_file_atomically(folder_ / "gold", gold);
    const Outcome outcome = sixfold("align $HERE/one.en $HERE/one.de --gold $HERE/gold -o $HERE/out");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.text.find(expected), std::string::npos) << outcome.text;
  }
  EXPECT_EQ(sixfold("align $HERE/test.en").status, 2);
  EXPECT_EQ(sixfold("align $HERE/test.en $HERE/test.de -o $HERE/test.de").status, 2);
  EXPECT_EQ(sixfold("align $HERE/test.en $HERE/test.de --gold $HERE/gold -o $HERE/gold").status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace sixfold
