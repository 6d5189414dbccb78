#include "data/lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "data/gzip.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Lines = std::vector<std::string>;

class LinesTest : public testing::Test {
 protected:
  std::string file(std::string_view text) const {
    write_file_atomically(folder_ / "text", text);
    return folder_ / "text";
  }
  TemporaryFolder folder_;
};

TEST_F(LinesTest, LineEnds) {
  EXPECT_EQ(read_lines(file("")), Lines{});
  EXPECT_EQ(read_lines(file("\n")), Lines{""});
  EXPECT_EQ(read_lines(file("a")), Lines{"a"});
  EXPECT_EQ(read_lines(file("a\n\nb\n")), (Lines{"a", "", "b"}));
  EXPECT_EQ(read_lines(file("a\r\n\r\nb\rc\r\n")), (Lines{"a", "", "b\rc"}));
  EXPECT_EQ(read_lines(file("\uFEFFa\n\uFEFFb\n")), (Lines{"a", "\uFEFFb"}));
  EXPECT_EQ(read_lines(file("\uFEFF")), Lines{""});
  EXPECT_EQ(read_lines(file("\uFEFFa\n\uFEFFb\n"), InvalidUtf8::error, ByteOrderMark::keep),
            (Lines{"\uFEFFa", "\uFEFFb"}));
}

TEST_F(LinesTest, LinesLongerThanTheBuffer) {
  const std::string longest(1'000'000, 'x');
  EXPECT_EQ(read_lines(file(longest + "\nb\n" + longest)), (Lines{longest, "b", longest}));
}

TEST_F(LinesTest, GzipIsToldByItsBytes) {
  const std::string path = folder_ / "text.txt";
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "line " + std::to_string(i) + "\n";
  write_gzip(path, text);
  const Lines lines = read_lines(path);
  ASSERT_EQ(lines.size(), 100000u);
  EXPECT_EQ(lines.back(), "line 99999");
  write_file_atomically(folder_ / "plain.gz", "plain\n");
  EXPECT_EQ(read_lines(folder_ / "plain.gz"), Lines{"plain"});
}

TEST_F(LinesTest, DamagedGzipIsAnError) {
  const std::string path = folder_ / "whole.gz";
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919 % 5003) + "\n";
  write_gzip(path, text);
  const std::string whole = read_file(path);
  for (const size_t size :
       {size_t{3}, size_t{9}, size_t{15}, whole.size() / 2, whole.size() - 9, whole.size() - 1})
    EXPECT_NE(error_message([&] { read_lines(file(whole.substr(0, size))); }).find("damaged or truncated"),
              std::string::npos)
        << size;
  std::string changed = whole;
  changed[whole.size() / 2] ^= 0x55;
  EXPECT_THROW(read_lines(file(changed)), Error);
}

TEST_F(LinesTest, GzipMayHaveSeveralMembers) {
  const std::string path = folder_ / "member.gz";
  write_gzip(path, "a\nb");
  const std::string first = read_file(path);
  write_gzip(path, std::string(1'000'000, 'x') + "\nc\n");
  const Lines expected{"a", "b" + std::string(1'000'000, 'x'), "c"};
  EXPECT_EQ(read_lines(file(first + read_file(path))), expected);
  EXPECT_NE(error_message([&] { read_lines(file(first + "more")); }).find("damaged"), std::string::npos);
  for (const size_t zeros : {1, 512, 300'000})
    EXPECT_EQ(read_lines(file(first + std::string(zeros, '\0'))), (Lines{"a", "b"})) << "as GNU gzip reads it";
  write_gzip(path, "");
  EXPECT_EQ(read_lines(path), Lines{});
}

TEST_F(LinesTest, GivesALineOfAPipeAsSoonAsItIsWhole) {
  using namespace std::chrono_literals;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto write = [&](std::string_view text) {
    ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  std::string line;
  EXPECT_FALSE(reader.ready(0ms));
  write("\x1f");  // may be gzip or not
  write("a\n\nb");
  EXPECT_TRUE(reader.ready(0ms));
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line,
            "\x1f"
            "a");
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "");
  EXPECT_FALSE(reader.ready(5ms));
  write("c");
  ::close(ends[1]);
  EXPECT_TRUE(reader.ready(0ms));
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "bc");
  EXPECT_TRUE(reader.ready(0ms));
  EXPECT_FALSE(reader.next(line));
  ::close(ends[0]);
}

TEST_F(LinesTest, IsNotReadyWhileALineGrows) {
  using namespace std::chrono_literals;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop && ::write(ends[1], "xxxxxxxx", 8) == 8) std::this_thread::sleep_for(1ms);
    ::close(ends[1]);
  });
  EXPECT_FALSE(reader.ready(30ms));
  EXPECT_FALSE(reader.ready(0ms));
  stop = true;
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line.find_first_not_of('x'), line.npos);
  EXPECT_FALSE(reader.next(line));
  writer.join();
  ::close(ends[0]);
}

TEST_F(LinesTest, OpensANamedPipeBeforeItsWriter) {
  using namespace std::chrono_literals;
  for (const std::string text : {"a\nb\n", ""}) {
    const std::string path = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    LineReader reader(path);
    EXPECT_FALSE(reader.ready(5ms)) << "no program has opened it for writing";
    std::thread writer([&] {
      std::this_thread::sleep_for(20ms);
      std::ofstream(path) << text;
    });
    EXPECT_EQ(reader.rest(), text);
    writer.join();
    std::filesystem::remove(path);
  }
}

// As under `su nobody -c`: the file was opened by somebody else, who may read it.
TEST_F(LinesTest, StandardInputIsNotOpenedAgain) {
  const std::string path = file("a\nb\n");
  const auto read_as_nobody = [&] {
    const int opened = ::open(path.c_str(), O_RDONLY);
    if (opened < 0 || ::dup2(opened, STDIN_FILENO) < 0 || ::chmod(path.c_str(), 0) != 0) std::_Exit(1);
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::seteuid(nobody) != 0) std::_Exit(2);
    if (::access(path.c_str(), R_OK) == 0 && ::open(path.c_str(), O_RDONLY) >= 0) std::_Exit(3);
    try {
      std::_Exit(read_lines("/dev/stdin") == Lines{"a", "b"} ? 0 : 4);
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      std::_Exit(5);
    }
  };
  EXPECT_EXIT(read_as_nobody(), testing::ExitedWithCode(0), "");
}

// Some programs set their end of a pipe so that reads do not wait.
TEST_F(LinesTest, WaitsForAStandardInputThatDoesNot) {
  const auto read = [&] {
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK) != 0 || ::dup2(ends[0], STDIN_FILENO) < 0) std::_Exit(1);
    std::thread writer([&] {
      for (const char* part : {"a", "\nb"}) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (::write(ends[1], part, std::strlen(part)) < 0) std::_Exit(2);
      }
      ::close(ends[1]);
    });
    const bool same = read_lines("/dev/stdin") == Lines{"a", "b"};
    writer.join();
    std::_Exit(same ? 0 : 3);
  };
  EXPECT_EXIT(read(), testing::ExitedWithCode(0), "");
}

TEST_F(LinesTest, MessagesNameStandardInput) {
  const std::string path = file("fine\nnot \xff\n");
  const auto read_bad_input = [&] {
    const int opened = ::open(path.c_str(), O_RDONLY);
    if (opened < 0 || ::dup2(opened, STDIN_FILENO) < 0) std::_Exit(1);
    std::fputs(error_message([] { read_lines("/dev/stdin"); }).c_str(), stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(
      read_bad_input(), testing::ExitedWithCode(0),
      "^standard input:2: byte 5 is not valid UTF-8; convert the text, or choose --invalid-utf8 replace or "
      "skip \\(in training data.invalid_utf8\\)$");
}

TEST_F(LinesTest, MissingFilesAndFolders) {
  EXPECT_EQ(error_message([&] { read_lines(folder_ / "nowhere"); }),
            (folder_ / "nowhere") + ": can't be read: No such file or directory");
  EXPECT_NE(error_message([&] { read_lines(folder_.path()); }).find("folder"), std::string::npos);
}

TEST_F(LinesTest, InvalidUtf8) {
  const std::string path = file(
      "gut\nGr\xFC\xDF"
      "e\ngut\n");
  EXPECT_EQ(error_message([&] { read_lines(path); }).find(path + ":2: byte 3 "), 0u);
  EXPECT_EQ(read_lines(path, InvalidUtf8::replace), (Lines{"gut", "Gr\uFFFD\uFFFDe", "gut"}));
  EXPECT_EQ(read_lines(path, InvalidUtf8::skip), (Lines{"gut", "", "gut"}));
}

TEST_F(LinesTest, NulIsNoText) {
  const std::string path = file(std::string("gut\na\0b\n", 8));
  EXPECT_EQ(error_message([&] { read_lines(path); }).find(path + ":2: byte 2 is NUL"), 0u);
  EXPECT_EQ(read_lines(path, InvalidUtf8::replace), (Lines{"gut", "a\uFFFDb"}));
  EXPECT_EQ(read_lines(path, InvalidUtf8::skip), (Lines{"gut", ""}));
}

}  // namespace
}  // namespace sixfold
