// sixfold corpus --clean; what it drops is tested with the library (tests/data/check/clean_test.cc).
#include "program/demo/corpus.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "data/gzip.h"
#include "error_message.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class CorpusClean : public testing::Test {
 protected:
  CorpusClean() {
    ::setenv("HERE", folder_.path().c_str(), 1);
    for (const demo::SentencePair& pair : demo::make_corpus({.train = 400, .valid = 0, .test = 0}).train) {
      english_ += pair.english + "\n", german_ += pair.german + "\n";
      tsv_ += pair.english + "\t" + pair.german + "\textra\n";
    }
    std::filesystem::create_directory(folder_ / "raw");
    write_file_atomically(folder_ / "raw/a.en", english_ + "A  dog\n\nIt is\ta cat.\n");
    write_file_atomically(folder_ / "raw/a.de", german_ + "Ein Hund\nLeer\nEs ist eine Katze.\n");
    write_file_atomically(folder_ / "raw/b.tsv", tsv_);
    write_gzip(folder_ / "raw/c.en.gz", "A bird sings.\n");
    write_gzip(folder_ / "raw/c.de.gz", "Ein Vogel singt.\n");
  }

  std::string output(const std::string& name) const { return read_file(folder_ / name); }

  TemporaryFolder folder_;
  std::string english_, german_, tsv_;
};

TEST_F(CorpusClean, WritesTheFilesAgainAndWhatItDropped) {
  const Outcome outcome = sixfold(
      "corpus $HERE/raw/a.en $HERE/raw/a.de $HERE/raw/b.tsv $HERE/raw/c.en.gz $HERE/raw/c.de.gz --clean "
      "$HERE/clean --keep targets-shuffled");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  expect_holds(outcome.text, "read                      804\nkept                      401   49.88 %\n");
  expect_holds(outcome.text, "duplicates                400   49.75 %\n");
  expect_holds(outcome.text, "white-space                 2    0.25 %\n");
  EXPECT_EQ(output("clean/a.en"), english_);
  EXPECT_EQ(output("clean/a.de"), german_);
  EXPECT_EQ(output("clean/b.tsv"), "");
  EXPECT_EQ(shell("zcat $HERE/clean/c.en.gz $HERE/clean/c.de.gz").text, "A bird sings.\nEin Vogel singt.\n");
  const std::string dropped = output("clean/dropped.tsv"), place = folder_ / "raw/a.en";
  EXPECT_TRUE(dropped.starts_with("white-space\t" + place + ":401\tA  dog\tEin Hund\nempty-lines\t" + place +
                                  ":402\t\tLeer\nwhite-space\t" + place +
                                  ":403\tIt is a cat.\tEs ist eine Katze.\nduplicates\t"))
      << dropped;
  const Outcome json = sixfold("corpus $HERE/raw/a.en $HERE/raw/a.de --clean $HERE/json --json --mend");
  expect_holds(json.text, "\"mended\": 2,");
  expect_holds(json.text, "\"empty-lines\": 1,");
  EXPECT_EQ(output("json/a.en"), english_ + "A dog\nIt is a cat.\n");
}

/// The example of docs/text.md.
TEST_F(CorpusClean, ReadsTranslationMemories) {
  const std::string docs = read_file(SIXFOLD_SOURCE_DIR "/docs/text.md");
  const auto block = [&](const std::string& fence, size_t from) {
    const size_t begin = docs.find(fence + "\n", from) + fence.size() + 1;
    return docs.substr(begin, docs.find("```", begin) - begin);
  };
  const size_t section = docs.find("\n## Translation memories\n");
  write_file_atomically(folder_ / "memory.tmx", block("```xml", section));
  const std::string command = "corpus $HERE/memory.tmx";
  const Outcome outcome = sixfold(command + " --source-language en --target-language de --clean $HERE/clean");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(output("clean/memory.tsv"), block("\n```", docs.find("becomes `clean/memory.tsv`", section)));
  EXPECT_EQ(read_file(folder_ / "memory.tmx"), block("```xml", section));
  expect_holds(sixfold(command + " --source-language en --target-language de").text, "1 pair, 1 kept");
  std::filesystem::rename(folder_ / "memory.tmx", folder_ / "memory.TMX");
  ASSERT_EQ(
      sixfold("corpus $HERE/memory.TMX --source-language en --target-language de --clean $HERE/same").status,
      0);
  EXPECT_EQ(output("same/memory.tsv"), output("clean/memory.tsv"));
  std::filesystem::rename(folder_ / "memory.TMX", folder_ / "memory.tmx");
  expect_error(sixfold(command), "--target-language");
  expect_error(sixfold(command + " --source-language en --target-language fi"), "no unit has both en and fi");
  expect_error(sixfold("corpus $HERE/raw/a.en $HERE/raw/a.de --source-language en"), "no effect");
}

TEST_F(CorpusClean, PartsAreTheWhole) {
  const std::string command = "corpus $HERE/raw/b.tsv $HERE/raw/a.en $HERE/raw/a.de --json --clean $HERE/";
  ASSERT_EQ(sixfold(command + "whole").status, 0);
  for (const char* part : {"1/3", "2/3", "3/3"})
    ASSERT_EQ(sixfold(command + "part-" + part[0] + " --part " + part).status, 0);
  for (const char* file : {"a.en", "a.de", "b.tsv", "dropped.tsv"})
    EXPECT_EQ(shell(std::string("cat $HERE/part-*/") + file).text, output(std::string("whole/") + file))
        << file;
}

TEST_F(CorpusClean, NothingOfAnybodysIsTouched) {
  const std::string command = "corpus $HERE/raw/a.en $HERE/raw/a.de --clean ";
  const int entries = folder_.entries();
  expect_error(sixfold(command + "$HERE/raw"), "contains an input of the command");
  std::filesystem::create_directory(folder_ / "own");
  write_file_atomically(folder_ / "own/thesis.tex", "years of work");
  expect_error(sixfold(command + "$HERE/own"), "not empty");
  expect_error(sixfold(command + "$HERE/own/thesis.tex"), "is a file");
  expect_error(sixfold(command + "$HERE/none/clean"), "create it first");
  EXPECT_EQ(folder_.entries(), entries + 1);
  EXPECT_EQ(output("own/thesis.tex"), "years of work");
}

TEST_F(CorpusClean, WrongUseIsExplained) {
  const std::string command = "corpus $HERE/raw/a.en $HERE/raw/a.de --clean $HERE/clean ";
  expect_error(sixfold(command + "--keep duplicate"), "did you mean 'duplicates'?");
  expect_error(sixfold(command + "--part 3"), "is not a part such as 3/10");
  expect_error(sixfold(command + "--part 1/2/3"), "is not a part such as 3/10");
  expect_error(sixfold(command + "--part 4/3"), "there is no part 4 of 3");
  expect_error(sixfold(command + "--source-language klingon"), "'klingon'");
  expect_error(sixfold(command + "--max-length 20"), "--max-length");
  expect_error(sixfold(command + "--source-language de --target-language en"), "It is the other direction");
  expect_error(sixfold("corpus $HERE/raw/a.en $HERE/raw/a.en --clean $HERE/clean"),
               "another file of the same name");
  expect_error(sixfold("corpus $HERE/none.en $HERE/none.de --clean $HERE/clean"), "none.en");
  expect_error(sixfold("corpus $HERE/raw/a.en $HERE/raw/a.de --mend"), "--clean");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "clean"));
}

TEST_F(CorpusClean, AnInterruptLeavesNothing) {
  std::string english, german;
  for (int i = 0; i < 500; ++i) english += english_, german += german_;
  write_file_atomically(folder_ / "raw/a.en", english);
  write_file_atomically(folder_ / "raw/a.de", german);
  const int entries = folder_.entries();
  // The signal is sent when the output has been begun.
  const Outcome outcome =
      shell(SIXFOLD_BINARY
            " corpus $HERE/raw/a.en $HERE/raw/a.de --clean $HERE/clean & "
            "for i in $(seq 2000); do ls -d $HERE/clean.tmp-* > /dev/null 2>&1 && break; sleep 0.01; done; "
            "kill -TERM $!; wait $!; echo status $?");
  expect_holds(outcome.text, "status 143");
  EXPECT_EQ(folder_.entries(), entries);
}

}  // namespace
}  // namespace sixfold
