#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/shell.h"
#include "cli/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Plot : public testing::Test {
 protected:
  Plot() { write_small_model(model_, 1); }
  Outcome plot(const std::string& options) { return sixfold("plot attention " + model_ + " " + options); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model", picture_ = folder_ / "attention.svg";
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
  return found;
}

TEST_F(Plot, DrawsEveryHead) {
  const Outcome outcome = plot("--text 'a b c' --target 'd e' --output " + picture_);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  const std::string svg = read_file(picture_);
  EXPECT_TRUE(svg.starts_with("<svg") || svg.starts_with("<?xml")) << svg.substr(0, 100);
  EXPECT_NE(svg.find("Attention of decoder layer 1 to the source"), std::string::npos);
  // Two heads and their mean; each cell, 3 target by 4 source symbols with the ends, tells its weight.
  EXPECT_EQ(count(svg, " → "), 3 * 3 * 4);
}

TEST_F(Plot, DrawsItsOwnTranslationAndAnyLayer) {
  const Outcome first = plot("--text 'a b c' --layer 0 --output -"),
                second = plot("--text 'a b c' --layer -2 -o -");
  EXPECT_EQ(first.status, 0);
  EXPECT_NE(first.text.find("decoder layer 0"), std::string::npos);
  EXPECT_EQ(first.text, second.text);
}

TEST_F(Plot, RefusesWhatItCanNotDraw) {
  expect_error(plot("--text a --layer 2 --output " + picture_),
               "--layer 2: the model's decoder has layers 0 to 1");
  expect_error(plot("--text '  ' --output " + picture_), "--text: the text is empty");
  expect_error(plot("--text a --target '' --output " + picture_), "--target: the text is empty");
  expect_error(plot("--text \"$(printf 'a \\377')\" --output " + picture_),
               "--text: the text is not valid UTF-8");
  expect_error(plot("--text a"), "--output is required");
  expect_error(plot("--test a --output x"), "unknown option --test; did you mean --text?");
  expect_error(sixfold("plot atention"), "unknown command atention; did you mean attention?");
  expect_error(sixfold("plot"), "see sixfold plot --help");
  expect_error(sixfold("plot attention " + (folder_ / "nowhere") + " --text a -o " + picture_),
               "is no model folder");
  EXPECT_FALSE(std::filesystem::exists(picture_));
}

}  // namespace
}  // namespace sixfold
