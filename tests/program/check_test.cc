#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

TEST(CheckCommand, SaysWhichSettingsHaveNoEffect) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "a b\nb c\n");
  write_file_atomically(folder / "b", "c d\nd e\n");
  const std::string config = folder / "run.yaml";
  write_file_atomically(
      config, "data: {train: [" + (folder / "a") + ", " + (folder / "b") + "]}\ntrain: {epochs: 1}\n");
  const Outcome none = sixfold("check " + config);
  EXPECT_EQ(none.status, 0) << none.text;
  const Outcome found = sixfold("check --json " + config + " --set data.shortlist=true");
  EXPECT_EQ(found.status, 3) << found.text;
  const auto findings = nlohmann::json::parse(found.text);
  ASSERT_EQ(findings.size(), 1u) << found.text;
  EXPECT_EQ(findings[0]["id"], "settings");
  EXPECT_EQ(findings[0]["severity"], "warning");
  EXPECT_EQ(findings[0]["text"],
            "data.shortlist has no effect without data.valid, with which lists are measured");
}

}  // namespace
}  // namespace sixfold
