#include "train/distributed/watchdog.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sixfold {
namespace {

TEST(Watchdog, EndsAProcessThatWaitsForTooLong) {
  EXPECT_EXIT(
      {
        const Watchdog watchdog(0.05, "process 3 waits");
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(1), "error: process 3 waits");
}

TEST(Watchdog, LeavesAProcessThatIsDoneInTime) { const Watchdog watchdog(600, "never"); }

}  // namespace
}  // namespace sixfold
