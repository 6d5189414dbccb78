#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "fuzz/targets.h"
#include "tasks/tasks.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// What fuzzing began with and what it found (scripts/fuzz): each file of a target's corpus, whole and cut
/// short.
class FuzzCorpus : public testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzCorpus, DoesNoHarm) {
  const fs::path folder = fs::path(SIXFOLD_SOURCE_DIR "/tests/fuzz/corpus") / GetParam().name;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string bytes = read_file(entry.path());
    const std::span<const uint8_t> all(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    for (size_t cut = 0; cut <= 8; ++cut) run_target(GetParam(), all.first(all.size() * cut / 8));
    ++files;
  }
  EXPECT_GT(files, 0) << folder;
}

/// scripts/fuzz runs the targets that have a corpus.
TEST(FuzzTargets, AreThoseOfTheCorpus) {
  std::set<std::string> corpora, targets;
  for (const auto& entry : fs::directory_iterator(SIXFOLD_SOURCE_DIR "/tests/fuzz/corpus"))
    corpora.insert(entry.path().filename());
  for (const FuzzTarget& target : fuzz_targets()) targets.emplace(target.name);
  EXPECT_EQ(targets, corpora);
}

TEST(FuzzTargets, ReadTheConfigOfEveryTask) {
  for (const TaskEntry& task : builtin_tasks()) {
    if (!task.is_trained()) continue;
    const std::string name = task.name == "translation" ? "train_config" : std::string(task.name) + "_config";
    EXPECT_EQ(std::ranges::count(fuzz_targets(), name, &FuzzTarget::name), 1) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(, FuzzCorpus, testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sixfold
