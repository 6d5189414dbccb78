#include <gtest/gtest.h>

#include "cli/shell.h"

namespace sixfold {
namespace {

TEST(Program, WithoutArgumentsShowsItsHelp) {
  const Outcome outcome = sixfold("");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.text.find("Make a model"), std::string::npos) << outcome.text;
}

TEST(Program, TellsHelpAndVersion) {
  EXPECT_EQ(sixfold("--help").status, 0);
  EXPECT_EQ(sixfold("evaluate --help").status, 0);
  const Outcome version = sixfold("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(version.text.starts_with("sixfold ")) << version.text;
}

TEST(Program, NamesTheNearestOptionOrCommand) {
  expect_error(sixfold("evaluate --refrence x"), "unknown option --refrence; did you mean --reference?");
  expect_error(sixfold("evaluate --refrence=x"), "unknown option --refrence; did you mean --reference?");
  expect_error(sixfold("evalute"), "unknown command evalute; did you mean evaluate?");
  expect_error(sixfold("evaluate --reference x y"), "unexpected argument 'y'");
}

TEST(Program, EndsWellWhenItsReaderHasGone) {
  // `sleep` holds the pipe's writing end back until `true` has ended and closed the reading end.
  const Outcome outcome = shell("{ sleep 0.2; " SIXFOLD_BINARY " --help; echo status $? >&2; } | true");
  EXPECT_EQ(outcome.text, "status 0\n");
}

TEST(Program, SaysThatItsOutputWasLost) {
  const Outcome outcome = sixfold("--help > /dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.text.find("can't write to standard output"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace sixfold
