#include "base/subprocess.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

Subprocess program(const std::string& command) {
  return {.command = command, .timeout = 20, .max_output = size_t{1} << 24};
}

TEST(Subprocess, ReadsWhileItWrites) {
  const std::string input(5'000'000, 'x');  // more than pipes hold
  EXPECT_EQ(run_subprocess(program("cat"), input), input);
  EXPECT_EQ(run_subprocess(program("true"), input), "") << "it need not read";
  EXPECT_EQ(run_subprocess(program("head -c 3"), input), "xxx");
  EXPECT_EQ(run_subprocess(program("wc -c"), ""), "0\n");
}

TEST(Subprocess, FailsWithItsProgram) {
  const auto message = [](const Subprocess& failing) {
    return error_message([&] { run_subprocess(failing, ""); });
  };
  EXPECT_EQ(message(program("exit 7")), "'exit 7' ended with status 7");
  EXPECT_EQ(message(program("kill -TERM $$")), "'kill -TERM $$' was ended by signal 15");
  EXPECT_EQ(message({.command = "echo 123", .timeout = 20, .max_output = 3}),
            "'echo 123' printed more than 3 bytes and was ended");
}

/// Whether the process whose number is in the file ends soon. It is then a zombie if nobody waits for it.
bool ends(const std::string& file) {
  const std::string id = read_file(file), status = "/proc/" + id.substr(0, id.find('\n')) + "/status";
  for (int i = 0; i < 200; ++i) {
    if (!std::filesystem::exists(status) || read_file(status).find("\nState:\tZ") != std::string::npos)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

/// The processes that the program has started end with it, whether it runs too long, is stopped, or ends first.
TEST(Subprocess, LeavesNothingBehind) {
  const TemporaryFolder folder;
  const std::string child = folder / "child", start = "sleep 100 & echo $! > " + child + "; ";
  EXPECT_EQ(error_message([&] { run_subprocess({.command = start + "wait", .timeout = 0.3}, ""); }),
            "'" + start + "wait' did not end within 0.3 seconds and was ended");
  EXPECT_TRUE(ends(child));
  std::atomic<int> stop{0};
  std::filesystem::remove(child);
  std::jthread stopper([&] {
    while (!std::filesystem::exists(child) || std::filesystem::file_size(child) < 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop = 2;
  });
  EXPECT_THROW(run_subprocess({.command = start + "wait", .timeout = 20, .stop = &stop}, ""), Cancelled);
  EXPECT_TRUE(ends(child));
  EXPECT_EQ(run_subprocess({.command = "setsid sleep 9 & echo done", .timeout = 5, .max_output = 9}, ""),
            "done\n")
      << "what has left the process group is not waited for";
  EXPECT_EQ(run_subprocess(program(start + "echo done"), ""), "done\n");
  EXPECT_TRUE(ends(child));
}

}  // namespace
}  // namespace sixfold
