// Translating with several processes.
#include "reliability/mpi.h"

namespace sixfold {
namespace {

class MpiTranslation : public Mpi {
 protected:
  void SetUp() override {
    Mpi::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(Process(training("run"), log()).wait(), 0) << read_file(log());
    std::string text;
    for (int i = 0; i < 9; ++i) text += read_file(folder_ / "train.a");  // 5,400 lines: six chunks
    write_file_atomically(folder_ / "input", text);
    Process whole(translation("whole"), log());
    ASSERT_EQ(whole.wait(), 0) << read_file(log());
  }
  std::vector<std::string> translation(const std::string& output, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"translate", folder_ / "run/model", "--input", folder_ / "input",
                                     "--output", folder_ / output, "--format", "tsv", "--threads", "1"});
    return options;
  }
};

TEST_F(MpiTranslation, ProcessesAndPartsGiveTheBytesOfOne) {
  const std::string whole = read_file(folder_ / "whole");
  EXPECT_EQ(start(3, translation("three")).wait(), 0) << read_file(log());
  EXPECT_TRUE(read_file(folder_ / "three") == whole);
  EXPECT_FALSE(fs::exists(folder_ / "three.parts"));
  for (const char* part : {"2/2", "1/2"}) {
    EXPECT_EQ(Process(translation("parts", {"--part", part}), log()).wait(), 0) << read_file(log());
    EXPECT_FALSE(fs::exists(folder_ / "parts"));
  }
  EXPECT_NE(read_file(log()).find("without --part joins them"), std::string::npos) << read_file(log());
  EXPECT_EQ(Process(translation("parts"), log()).wait(), 0) << read_file(log());
  EXPECT_TRUE(read_file(folder_ / "parts") == whole);
  EXPECT_FALSE(fs::exists(folder_ / "parts.parts"));
}

/// As the jobs of an array do. What a killed one has left is no obstacle.
TEST_F(MpiTranslation, PartsMayBeginAtOnce) {
  for (int round = 0; round < 3; ++round) {
    const std::string output = fmt::format("output-{}", round);
    fs::create_directory(folder_ / (output + ".parts"));
    write_file_atomically(folder_ / (output + ".parts/translation.json.tmp-999999-0"), "{");
    std::vector<std::unique_ptr<Process>> jobs;
    for (int part = 1; part <= 5; ++part)
      jobs.push_back(std::make_unique<Process>(translation(output, {"--part", fmt::format("{}/5", part)}),
                                               folder_ / fmt::format("log-{}", part)));
    for (int part = 1; part <= 5; ++part)
      EXPECT_EQ(jobs[static_cast<size_t>(part) - 1]->wait(), 0)
          << read_file(folder_ / fmt::format("log-{}", part));
    EXPECT_EQ(Process(translation(output), log()).wait(), 0) << read_file(log());
    EXPECT_TRUE(read_file(folder_ / output) == read_file(folder_ / "whole"));
  }
}

/// The layer 0 is not the default.
TEST_F(MpiTranslation, PartsOfAnotherLayerAreRefused) {
  EXPECT_EQ(Process(translation("output", {"--alignments", "--layer", "0", "--part", "1/9"}), log()).wait(), 0)
      << read_file(log());
  EXPECT_EQ(Process(translation("output", {"--alignments", "--part", "2/9"}), log()).wait(), 2);
  EXPECT_NE(read_file(log()).find("--layer (\"default\", and was \"0\")"), std::string::npos)
      << read_file(log());
}

TEST_F(MpiTranslation, WarningsOfAllProcessesAreSaid) {
  EXPECT_EQ(start(2, translation("output", {"--max-source-length", "1"})).wait(), 0) << read_file(log());
  const std::string said = read_file(log());
  EXPECT_NE(said.find("warning: line "), said.npos) << said;
  EXPECT_NE(said.find("warning: process 1 on "), said.npos) << said;
}

/// The launcher gives the status of the process that ends first.
TEST_F(MpiTranslation, AnErrorOfTheInputHasTheSameStatusInAllProcesses) {
  std::vector<std::string> arguments = translation("output");
  *std::find(arguments.begin(), arguments.end(), folder_ / "input") = folder_ / "missing";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(start(3, arguments).wait(), 2) << read_file(log());
}

TEST_F(MpiTranslation, AnotherProgramOrOtherOptionsAreRefusedByName) {
  const std::string other = folder_ / "other/sixfold";
  fs::create_directory(folder_ / "other");
  write_file_atomically(other, read_file(SIXFOLD_BINARY) + "x");
  fs::copy_file(fs::path(SIXFOLD_BINARY).parent_path() / "sixfold_mpi.so", folder_ / "other/sixfold_mpi.so");
  ::chmod(other.c_str(), 0755);
  const std::string program = script(1, "exec " + other + " \"$@\"");
  EXPECT_EQ(start(2, translation("output"), {}, program).wait(), 2);
  EXPECT_NE(read_file(log()).find("the program of process 1 on "), std::string::npos) << read_file(log());
  EXPECT_EQ(start(2, translation("output"), {}, script(1, "set -- \"$@\" --beam-size 2")).wait(), 2);
  EXPECT_NE(read_file(log()).find("\"--beam-size\": \"2\""), std::string::npos) << read_file(log());
  EXPECT_EQ(start(2, translation("output"), {}, script(1, "set -- \"$@\" --output " + (folder_ / "other/text")))
                .wait(),
            2);
  EXPECT_NE(read_file(log()).find("--output"), std::string::npos) << read_file(log());
  EXPECT_FALSE(fs::exists(folder_ / "output.parts"));
}

/// One path that is another folder in each process, as it is where hosts share no disk.
TEST_F(MpiTranslation, SlowAHostThatDoesNotSeeThePartsSaysSo) {
  std::vector<std::string> arguments = translation("output");
  *std::find(arguments.begin(), arguments.end(), folder_ / "output") = "/proc/self/cwd/output";
  fs::create_directories(folder_ / "elsewhere");
  EXPECT_NE(start(2, arguments, {"-wdir", folder_.path()}, script(1, "cd " + folder_ / "elsewhere")).wait(), 0);
  EXPECT_NE(read_file(log()).find("output.parts: process 0 has made this folder, which is not seen here"),
            std::string::npos)
      << read_file(log());
}

TEST_F(MpiTranslation, FinishedChunksAreNotDoneAgain) {
  EXPECT_EQ(Process(translation("output", {"--part", "1/3"}), log()).wait(), 0) << read_file(log());
  const std::string chunk = folder_ / "output.parts/chunk-000000000";
  const auto made = fs::last_write_time(chunk);
  fs::last_write_time(chunk, made - std::chrono::hours(1));
  Process other(translation("output", {"--part", "2/3", "--beam-size", "2"}), log());
  EXPECT_EQ(other.wait(), 2);
  EXPECT_NE(
      read_file(log()).find("holds chunks of another translation: --beam-size (\"2\", and was \"default\")"),
      std::string::npos)
      << read_file(log());
  EXPECT_EQ(Process(translation("output", {"--part", "2/3"}), log()).wait(), 0) << read_file(log());
  EXPECT_TRUE(fs::last_write_time(chunk) == made - std::chrono::hours(1));
  const std::string written = read_file(chunk);
  for (const std::string& changed : {std::string(), written.substr(0, 100), "x" + written, written + "\n"}) {
    write_file_atomically(chunk, changed);
    EXPECT_EQ(Process(translation("output"), log()).wait(), 2);
    EXPECT_NE(read_file(log()).find("chunk-000000000: it has changed since it was written"), std::string::npos)
        << read_file(log());
    EXPECT_FALSE(fs::exists(folder_ / "output"));
  }
  EXPECT_EQ(Process(translation("output.parts/chunk-000000000"), log()).wait(), 2)
      << "another translation to the file of a part";
  EXPECT_NE(read_file(log()).find("holds the parts of a translation"), std::string::npos) << read_file(log());
  fs::remove(chunk);
  EXPECT_EQ(start(2, translation("output")).wait(), 0) << read_file(log());
  EXPECT_TRUE(read_file(folder_ / "output") == read_file(folder_ / "whole"));
}

/// All end, and what is finished is not done again.
TEST_F(MpiTranslation, SlowAKilledProcessLosesNothing) {
  {
    Process killed = start(3, translation("output", {"--beam-size", "8"}));
    while (!fs::exists(folder_ / "output.parts/chunk-000000000") && !killed.ended(milliseconds(2))) {
    }
    const pid_t pid = process_of(1);
    ASSERT_GT(pid, 0);
    ::kill(pid, SIGKILL);
    EXPECT_TRUE(killed.ended(milliseconds(30'000)));
    EXPECT_NE(killed.wait(), 0);
    EXPECT_FALSE(fs::exists(folder_ / "output"));
  }
  EXPECT_EQ(start(2, translation("output", {"--beam-size", "8"})).wait(), 0) << read_file(log());
  EXPECT_EQ(Process(translation("again", {"--beam-size", "8"}), log()).wait(), 0) << read_file(log());
  EXPECT_TRUE(read_file(folder_ / "output") == read_file(folder_ / "again"));
  expect_no_process_left();
}

TEST_F(MpiTranslation, FilesOfSomebodyElseStay) {
  fs::create_directory(folder_ / "output.parts");
  write_file_atomically(folder_ / "output.parts/mine", "mine\n");
  // Chunks of which nothing says whose they are.
  fs::create_directory(folder_ / "unknown.parts");
  write_file_atomically(folder_ / "unknown.parts/chunk-000000000", "mine\n");
  EXPECT_EQ(Process(translation("unknown"), log()).wait(), 0)
      << read_file(log());  // one process needs no parts
  EXPECT_EQ(Process(translation("unknown", {"--part", "1/2"}), log()).wait(), 2) << read_file(log());
  EXPECT_NE(read_file(log()).find("holds chunks, but no translation.json"), std::string::npos)
      << read_file(log());
  EXPECT_EQ(read_file(folder_ / "unknown.parts/chunk-000000000"), "mine\n");
  // The input is one of the parts.
  fs::create_directory(folder_ / "within.parts");
  write_file_atomically(folder_ / "within.parts/chunk-000000000", "a\n");
  std::vector<std::string> within = translation("within", {"--part", "1/1"});
  *std::find(within.begin(), within.end(), folder_ / "input") = folder_ / "within.parts/chunk-000000000";
  EXPECT_EQ(Process(within, log()).wait(), 2) << read_file(log());
  EXPECT_EQ(read_file(folder_ / "within.parts/chunk-000000000"), "a\n");
  // An output that can't be written is refused before the work.
  fs::create_directory(folder_ / "folder");
  for (const std::string output : {"folder", "folder/", "missing/output"}) {
    EXPECT_NE(Process(translation(output, {"--part", "1/1"}), log()).wait(), 0) << read_file(log());
    EXPECT_FALSE(fs::exists(folder_ / (output + ".parts")));
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "folder"));
  EXPECT_EQ(Process(translation("output", {"--part", "1/2"}), log()).wait(), 2) << read_file(log());
  EXPECT_EQ(read_file(folder_ / "output.parts/mine"), "mine\n");
  for (const char* wrong : {"0/2", "3/2", "x", "1/", "/2", "1/2/3", "-1/2"})
    EXPECT_NE(Process(translation("other", {"--part", wrong}), log()).wait(), 0) << wrong;
}

}  // namespace
}  // namespace sixfold
