#include "base/log.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

std::vector<std::string> received;

TEST(Log, ASinkGetsWhatStandardErrorGotBefore) {
  testing::internal::CaptureStderr();
  log_info("{} lines", 1);
  send_log_to(
      [](const std::string& text, bool warning) { received.push_back((warning ? "W " : "I ") + text); });
  EXPECT_FALSE(log_is_terminal());
  log_info("{} lines", 2);
  log_warning("{} lines", 3);
  send_log_to(nullptr);
  log_warning("{} lines", 4);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "1 lines\nwarning: 4 lines\n");
  EXPECT_EQ(received, (std::vector<std::string>{"I 2 lines", "W 3 lines"}));
}

}  // namespace
}  // namespace sixfold
