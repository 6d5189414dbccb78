#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "reliability/training.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class Kill : public testing::Test {
 protected:
  std::vector<std::string> arguments(const std::string& run, int threads = 1) const {
    return {"train",
            config_,
            "--out",
            folder_ / run,
            "--resume",
            "--set",
            fmt::format("train.threads={}", threads)};
  }
  std::string log() const { return folder_ / "log"; }
  std::string contents(const std::string& run) const { return contents_of_run(folder_ / run); }
  bool is_writing_checkpoint(const std::string& run) const {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_ / (run + "/checkpoints"), ignored))
      if (entry.path().filename().string().find(".tmp-") != std::string::npos) return true;
    return false;
  }

  TemporaryFolder folder_;
  const std::string config_ = write_small_training(folder_.path());
};

/// Killed at random moments, every other time while a checkpoint is being written, resumed with one and two
/// threads in turn, a run makes what an unbroken one makes, byte for byte. SIXFOLD_KILLS says how often (20),
/// SIXFOLD_SEED what the moments follow from.
TEST_F(Kill, SlowAtAnyMomentLosesNothing) {
  EXPECT_EQ(Process(arguments("whole"), log()).wait(), 0) << read_file(log());
  const char* asked = std::getenv("SIXFOLD_KILLS");
  const int kills = asked ? std::atoi(asked) : 20;
  const char* seed = std::getenv("SIXFOLD_SEED");
  std::mt19937 random(seed ? static_cast<uint32_t>(std::atoll(seed)) : 1);
  int killed = 0, in_checkpoint = 0;
  for (int attempt = 0; killed < kills && attempt < 3 * kills; ++attempt) {
    if (fs::exists(folder_ / "broken/model")) fs::remove_all(folder_ / "broken");  // finished: begin another
    Process process(arguments("broken", 1 + attempt % 2), log());
    const bool wait_for_checkpoint = attempt % 2 == 1;
    const auto moment = std::chrono::microseconds(random() % 300'000);
    const auto until = std::chrono::steady_clock::now() +
                       (wait_for_checkpoint ? std::chrono::microseconds(2'000'000) : moment);
    bool writing = false;
    while (!process.ended() && std::chrono::steady_clock::now() < until && !writing) {
      writing = wait_for_checkpoint && is_writing_checkpoint("broken");
      if (!wait_for_checkpoint) std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    if (writing) std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    process.send(SIGKILL);
    const int status = process.wait();
    EXPECT_TRUE(status == 128 + SIGKILL || status == 0) << status << "\n" << read_file(log());
    killed += status == 128 + SIGKILL;
    in_checkpoint += status == 128 + SIGKILL && is_writing_checkpoint("broken");
  }
  EXPECT_EQ(killed, kills);
  EXPECT_GT(in_checkpoint, 0);
  EXPECT_EQ(Process(arguments("broken", 2), log()).wait(), 0) << read_file(log());
  EXPECT_EQ(first_difference(contents("whole"), contents("broken")), "");
  RecordProperty("kills_in_checkpoints", in_checkpoint);
}

TEST_F(Kill, SlowSignalsSaveAndSayHowToGoOn) {
  EXPECT_EQ(Process(arguments("whole"), log()).wait(), 0) << read_file(log());
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(arguments("broken"), log());
    while (!process.ended() && read_file(log()).find("\nupdate ") == std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.send(signal);
    EXPECT_EQ(process.wait(), 128 + signal) << read_file(log());
    const std::string said = read_file(log());
    EXPECT_NE(said.find("to resume: sixfold train"), std::string::npos) << said;
    EXPECT_NE(said.find("--resume"), std::string::npos) << said;
    fs::remove_all(folder_ / "broken/encoded-text");  // is made anew
  }
  EXPECT_EQ(Process(arguments("broken"), log()).wait(), 0) << read_file(log());
  EXPECT_EQ(first_difference(contents("whole"), contents("broken")), "");
}

TEST_F(Kill, SlowASecondSignalLeavesAtOnce) {
  Process process(arguments("broken"), log());
  while (!process.ended() && !fs::exists(folder_ / "broken/checkpoints"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  process.send(SIGINT);
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 128 + SIGINT);
  EXPECT_EQ(Process(arguments("broken"), log()).wait(), 0) << read_file(log());
}

}  // namespace
}  // namespace sixfold
