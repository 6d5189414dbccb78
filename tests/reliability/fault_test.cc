#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "reliability/training.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// Training while its folder can't be written to.
class Faults : public testing::Test {
 protected:
  Faults() {
    std::string text = read_file(config_);
    text.replace(text.find("updates: 120"), 12, "updates: 12 ");
    write_file_atomically(config_, text);
  }

  /// Trains in `run`, the `at`-th call that writes there failing; 0: none. Returns the exit status.
  int train(const std::string& run, long at, int error = ENOSPC, bool once = false) {
    std::vector<std::string> environment{"LD_PRELOAD=" SIXFOLD_FAULTS, "SIXFOLD_FAULT_PATH=/" + run,
                                         "SIXFOLD_FAULT_COUNT=" + (folder_ / "count"),
                                         fmt::format("SIXFOLD_FAULT_ERRNO={}", error)};
    if (at > 0) environment.push_back(fmt::format("SIXFOLD_FAULT_AT={}", at));
    if (once) environment.push_back("SIXFOLD_FAULT_ONCE=1");
    return Process({"train", config_, "--out", folder_ / run, "--resume"}, log(), environment).wait();
  }
  std::string log() const { return folder_ / "log"; }
  std::string contents(const std::string& run) const { return contents_of_run(folder_ / run); }

  TemporaryFolder folder_;
  const std::string config_ = write_small_training(folder_.path());
};

/// Wherever the disk is full, the error says so, the last checkpoint is whole, and the run can be resumed to
/// the same end. SIXFOLD_FAULTS_ALL tries every call that writes, else some forty are.
TEST_F(Faults, SlowWhereverTheDiskIsFullNothingIsLost) {
  ASSERT_EQ(train("whole", 0), 0) << read_file(log());
  const long calls = std::stol(read_file(folder_ / "count"));
  ASSERT_GT(calls, 100);
  const long step = std::getenv("SIXFOLD_FAULTS_ALL") ? 1 : calls / 40;
  int failed = 0;
  for (long at = 1, turn = 0; at <= calls; at += step, ++turn) {
    const int error = std::array{ENOSPC, EROFS, EIO}[static_cast<size_t>(turn % 3)];
    const bool once = turn % 2 == 1;
    SCOPED_TRACE(fmt::format("call {} of {}: {}{}", at, calls, std::strerror(error), once ? ", once" : ""));
    fs::remove_all(folder_ / "broken");
    const int status = train("broken", at, error, once);
    const std::string said = read_file(log());
    EXPECT_TRUE(status == 1 || (once && status == 0)) << status << "\n" << said;
    if (status == 1) {
      ++failed;
      EXPECT_NE(said.find("error: " + (folder_ / "broken")), std::string::npos) << said;
      EXPECT_NE(said.find(std::strerror(error)), std::string::npos) << said;
      EXPECT_EQ(said.find("please report"), std::string::npos) << said;
    }
    ASSERT_EQ(train("broken", 0), 0) << read_file(log());
    ASSERT_EQ(first_difference(contents("whole"), contents("broken")), "");
  }
  EXPECT_GT(failed, 20);
}

TEST_F(Faults, SlowTextThatVanishesMeanwhileIsNotMissed) {
  ASSERT_EQ(train("whole", 0), 0) << read_file(log());
  Process process({"train", config_, "--out", folder_ / "broken"}, log());
  while (!process.ended() && !fs::exists(folder_ / "broken/train.jsonl"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (const char* name : {"train.a", "train.b", "valid.a", "valid.b"}) fs::remove(folder_ / name);
  EXPECT_EQ(process.wait(), 0) << read_file(log());
  EXPECT_EQ(first_difference(contents("whole"), contents("broken")), "");
}

}  // namespace
}  // namespace sixfold
