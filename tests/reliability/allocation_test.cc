#include <gtest/gtest.h>

#include "program/small_model.h"
#include "reliability/training.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

/// A program of which one allocation fails. Wherever that is, the program reports it and ends, or it does
/// without the memory and its results are those that it always has. The one exception is the reading of JSON
/// while a model is loaded.
class AllocationFaults : public testing::Test {
 protected:
  AllocationFaults() {
    write_small_model(folder_ / "model", 1);
    std::string lines;
    for (int i = 0; i < 40; ++i) lines += std::string("a b c d e f g h").substr(0, 2 * (i % 8) + 1) + "\n";
    write_file_atomically(folder_ / "input", lines);
  }

  struct Outcome {
    int status;
    std::string printed;
  };

  /// `at`: the number of the allocation that fails; 0: none.
  Outcome run(const std::vector<std::string>& arguments, long at) const {
    std::vector<std::string> environment{"LD_PRELOAD=" SIXFOLD_ALLOCATION_FAULTS,
                                         "SIXFOLD_FAULT_COUNT=" + (folder_ / "count")};
    if (at > 0) environment.push_back(fmt::format("SIXFOLD_FAULT_AT={}", at));
    Process process(arguments, folder_ / "log", environment);
    if (!process.ended(std::chrono::seconds(30))) return {-1, "it hangs"};
    return {process.wait(), read_file(folder_ / "log")};
  }

  /// SIXFOLD_FAULTS_ALL lets every allocation fail, else some hundred do. `output` is a file that the command
  /// writes.
  void try_everywhere(const std::vector<std::string>& arguments, const std::string& output) {
    ASSERT_EQ(run(arguments, 0).status, 0) << read_file(folder_ / "log");
    const std::string expected = read_file(output);
    const long calls = std::stol(read_file(folder_ / "count"));
    ASSERT_GT(calls, 1000);
    const long step = std::getenv("SIXFOLD_FAULTS_ALL") ? 1 : calls / 101;
    int failed = 0, aborted = 0;
    for (long at = 1; at <= calls; at += step) {
      SCOPED_TRACE(fmt::format("allocation {} of {}", at, calls));
      std::filesystem::remove(output);
      const auto [status, printed] = run(arguments, at);
      if (status == 0) {
        EXPECT_EQ(read_file(output), expected) << printed;
        continue;
      }
      ++failed;
      if (status == 128 + SIGABRT && printed.find("std::bad_alloc") != std::string::npos) {
        ++aborted;  // the library that reads JSON allocates in its destructors
        continue;
      }
      EXPECT_EQ(status, 1) << printed;
      EXPECT_NE(printed.find("error: "), std::string::npos) << printed;
      EXPECT_EQ(printed.find("please report"), std::string::npos) << printed;
      EXPECT_FALSE(std::filesystem::exists(output));
    }
    EXPECT_GT(failed, 50);
    EXPECT_LT(aborted, failed / 10);
  }

  TemporaryFolder folder_;
};

TEST_F(AllocationFaults, SlowTranslatingEndsWithAnErrorOrTheRightResult) {
  for (const char* threads : {"1", "2"})
    try_everywhere({"translate", folder_ / "model", "--input", folder_ / "input", "--output",
                    folder_ / "output", "--beam-size", "3", "--batch-tokens", "60", "--threads", threads},
                   folder_ / "output");
}

TEST_F(AllocationFaults, SlowScoringEndsWithAnErrorOrTheRightResult) {
  for (const char* threads : {"1", "2"})
    try_everywhere({"score", folder_ / "model", "--source", folder_ / "input", "--target", folder_ / "input",
                    "--output", folder_ / "output", "--batch-tokens", "60", "--threads", threads},
                   folder_ / "output");
}

}  // namespace
}  // namespace sixfold
