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

TEST(Log, ControlCharactersOfForeignTextDoNotReachATerminal) {
  EXPECT_EQ(without_controls("a\x1b[2J\r\x07\x7f\tb\n\xc2\x9b\x31m\xc2\xa0\xc2"),
            "a\\x1b[2J\\x0d\\x07\\x7f\tb\n\\xc2\\x9b1m\xc2\xa0\xc2");
  testing::internal::CaptureStderr();
  log_warning("line '{}'", "\x1b[31m");
  error_line("\x1b]0;title");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: line '\\x1b[31m'\nerror: \\x1b]0;title\n");
}

}  // namespace
}  // namespace sixfold
