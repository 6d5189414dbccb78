#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_mask_filler.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class FillCommand : public testing::Test {
 protected:
  FillCommand() { write_small_mask_filler(model_, 3); }
  std::string file(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  Outcome fill(const std::string& options) const { return sixfold("fill " + model_ + " " + options); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(FillCommand, WritesALineForEachLine) {
  const std::string text = file("text", "a <mask> c\n<mask>\n"), output = folder_ / "out";
  const Outcome outcome = fill("--input " + text);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(std::ranges::count(outcome.text, '\n'), 2);
  EXPECT_TRUE(outcome.text.starts_with("a ")) << outcome.text;
  EXPECT_EQ(outcome.text.find("<mask>"), std::string::npos);
  EXPECT_EQ(fill("< " + text).text, outcome.text);
  EXPECT_EQ(fill("--threads 1 --input " + text + " --output " + output).status, 0);
  EXPECT_EQ(read_file(output), outcome.text);
}

TEST_F(FillCommand, WritesTheCandidatesAsJson) {
  const std::string text = file("text", "a <mask> <mask>\n");
  const auto json = nlohmann::json::parse(fill("--json --candidates 3 --input " + text).text);
  ASSERT_EQ(json.at("masks").size(), 2u);
  std::string filled = "a";
  for (const auto& mask : json.at("masks")) {
    ASSERT_EQ(mask.size(), 3u);
    EXPECT_GE(mask[0].at("probability"), mask[1].at("probability"));
    filled += mask[0].at("text").get<std::string>();
  }
  EXPECT_EQ(json.at("text"), filled);
  EXPECT_EQ(fill("--candidates 3 --input " + text + " 2>/dev/null").status, 2) << "without --json";
  EXPECT_EQ(fill("--json --candidates 0 --input " + text + " 2>/dev/null").status, 2);
}

TEST_F(FillCommand, ServesTheOthersIfALineHasNoMask) {
  const Outcome outcome = fill("--input " + file("text", "a\nb <mask>\n") + " 2>/dev/null");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.text.starts_with("\nb ")) << outcome.text;
  const Outcome errors = fill("--input " + folder_ / "text" + " 2>&1 >/dev/null");
  EXPECT_NE(errors.text.find("line 1: the text has no <mask>"), std::string::npos) << errors.text;
  EXPECT_NE(errors.text.find("1 line failed; the others are complete"), std::string::npos) << errors.text;
  EXPECT_EQ(fill("--input " + folder_ / "text" + " --output " + folder_ / "text" + " 2>/dev/null").status, 2);
  EXPECT_EQ(read_file(folder_ / "text"), "a\nb <mask>\n") << "the input is not replaced";
}

}  // namespace
}  // namespace sixfold
