#include <gtest/gtest.h>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Tokenize : public testing::Test {
 protected:
  Tokenize() { write_small_model(model_, 1); }
  Outcome tokenize(const std::string& input, const std::string& options = "") {
    write_file_atomically(folder_ / "input", input);
    return shell("cat " + (folder_ / "input") + " | " SIXFOLD_BINARY " tokenize " + model_ + " " + options);
  }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(Tokenize, ShowsPiecesAndIds) {
  EXPECT_EQ(tokenize("a  b zebra\n\nh").text, "a b <unk>\n\nh\n");
  EXPECT_EQ(tokenize("a b zebra\n\nh", "--ids").text, "3 4 0\n\n10\n");
  EXPECT_EQ(tokenize("").text, "");
  EXPECT_EQ(tokenize("a\r\nb\r\n").text, "a\nb\n");
}

TEST_F(Tokenize, MakesTextOfThem) {
  EXPECT_EQ(tokenize("a b\n\nc\n", "--decode").text, "a b\n\nc\n");
  EXPECT_EQ(tokenize("3  4\n2\n10\n", "--decode --ids --target").text, "a b\n\nh\n");
}

TEST_F(Tokenize, RefusesWhatTheVocabularyLacks) {
  expect_error(tokenize("a\nb zebra\n", "--decode --output " + (folder_ / "out")),
               "standard input:2: 'zebra' is not a token of the vocabulary");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  for (const std::string bad : {"11", "-1", "3x", "99999999999"})
    expect_error(tokenize(bad, "--decode --ids"), "'" + bad + "' is not an id from 0 to 10");
}

TEST_F(Tokenize, TreatsInvalidUtf8AsAsked) {
  const std::string text = "a\nb \xff\nc\n";
  const Outcome refused = tokenize(text, "--output " + (folder_ / "out"));
  expect_error(refused,
               "standard input:2: byte 3 is not valid UTF-8; convert the text, or choose --invalid-utf8 "
               "replace or skip");
  EXPECT_EQ(tokenize(text, "--invalid-utf8 replace").text, "a\nb <unk>\nc\n");
  EXPECT_EQ(tokenize(text, "--invalid-utf8 skip").text, "a\n\nc\n");
  expect_error(tokenize(text, "--invalid-utf8 ignore"), "expected one of error, replace, skip");
}

TEST_F(Tokenize, ReadsAndWritesFiles) {
  write_file_atomically(folder_ / "text", "a b\n");
  EXPECT_EQ(sixfold("tokenize " + model_ + " -i " + (folder_ / "text") + " -o " + (folder_ / "out")).status, 0);
  EXPECT_EQ(read_file(folder_ / "out"), "a b\n");
  expect_error(sixfold("tokenize " + model_ + " --input " + (folder_ / "nowhere")),
               "nowhere: can't be read: No such file or directory");
}

}  // namespace
}  // namespace sixfold
