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
  // Whatever training warns of when it begins.
  for (const char* setting :
       {"schedule.factor=2", "schedule.kind=noam schedule.learning_rate=0.01", "teacher.temperature=2",
        "start.lora_alpha=4", "model.kernel_size=5", "train.r_drop=3 model.dropout=0",
        "train.epochs=0 train.updates=5 schedule.warmup=9"}) {
    const Outcome outcome = sixfold("check --json " + config + " --set " + setting);
    EXPECT_EQ(outcome.status, 3) << setting;
    ASSERT_EQ(nlohmann::json::parse(outcome.text).size(), 1u) << outcome.text;
    EXPECT_EQ(nlohmann::json::parse(outcome.text)[0]["id"], "settings") << setting;
  }
  // Whatever training refuses before it reads the data.
  for (const char* setting : {"schedule.kind=plateau", "data.weights=1 data.temperature=2"})
    EXPECT_EQ(sixfold("check " + config + " --set " + setting).status, 2) << setting;
}

}  // namespace
}  // namespace sixfold
