#include "data/lines.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "corpus/gzip.h"
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
    EXPECT_NE(error_message([&] { read_lines(file(whole.substr(0, size))); }).find("damaged or cut off"),
              std::string::npos)
        << size;
  std::string changed = whole;
  changed[whole.size() / 2] ^= 0x55;
  EXPECT_THROW(read_lines(file(changed)), Error);
}

TEST_F(LinesTest, MissingFilesAndFolders) {
  EXPECT_NE(error_message([&] { read_lines(folder_ / "nowhere"); }).find("nowhere"), std::string::npos);
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

}  // namespace
}  // namespace sixfold
