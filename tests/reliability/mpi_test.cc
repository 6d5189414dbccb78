// Training and translating with several processes that mpirun starts. Skipped where there is no Open MPI.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "reliability/training.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// mpirun on one machine, whatever it is: as root, with more processes than processors, without ssh.
const std::vector<std::string> environment{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                           "OMPI_MCA_rmaps_base_oversubscribe=1",
                                           "OMPI_MCA_hwloc_base_binding_policy=none", "OMPI_MCA_plm=isolated",
                                           "OMPI_MCA_btl_vader_single_copy_mechanism=none",
                                           // What MPI's own modules leave is not known by name after its end.
                                           "ASAN_OPTIONS=detect_leaks=0"};

/// Whether it starts programs here: a container may forbid what it needs.
bool has_mpi() {
  std::string command = "env";
  for (const std::string& variable : environment) command += " " + variable;
  return fs::exists(fs::path(SIXFOLD_BINARY).parent_path() / "sixfold_mpi.so") &&
         std::system((command + " mpirun -n 2 true > /dev/null 2>&1").c_str()) == 0;
}

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi())
      GTEST_SKIP() << "Open MPI (openmpi-bin, libopenmpi-dev) is not here, or can't start programs";
    // Gradients of four shards, and messages of a process that is not heard of for long.
    shared_ = {"train.shards=4", "train.updates=40", "distributed.timeout=30"};
  }

  std::string log() const { return folder_ / "log"; }
  std::string contents(const std::string& run) const { return contents_of_run(folder_ / run); }

  std::vector<std::string> training(const std::string& run) const {
    std::vector<std::string> arguments{"train", config_, "--output", folder_ / run, "--resume", "--set"};
    arguments.insert(arguments.end(), shared_.begin(), shared_.end());
    return arguments;
  }
  /// Runs the program, or a script that runs it, in several processes.
  Process start(int processes, const std::vector<std::string>& arguments, std::vector<std::string> how = {},
                const std::string& program = SIXFOLD_BINARY) const {
    how.insert(how.begin(), {"-n", std::to_string(processes)});
    how.push_back(program);
    how.insert(how.end(), arguments.begin(), arguments.end());
    return Process(how, log(), environment, "mpirun");
  }

  /// The process of a rank; -1 if there is none.
  pid_t process_of(int rank) const {
    const std::string variable = fmt::format("OMPI_COMM_WORLD_RANK={}", rank) + '\0';
    for (const pid_t pid : own_processes()) {
      const std::string values = contents_of(fmt::format("/proc/{}/environ", pid));
      if (values.find(variable) != values.npos) return pid;
    }
    return -1;
  }
  /// The processes that were started with this test's folder among their arguments, but for mpirun.
  std::vector<pid_t> own_processes() const {
    std::vector<pid_t> processes;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != name.npos) continue;
      const std::string command = contents_of(entry.path().string() + "/cmdline");
      if (command.find(folder_.path().string()) != command.npos && !command.starts_with("mpirun"))
        processes.push_back(std::stoi(name));
    }
    return processes;
  }
  static std::string contents_of(const std::string& path) {
    try {
      return read_file(path);
    } catch (const Error&) {
      return "";
    }
  }
  void expect_no_process_left() const {
    for (int i = 0; i < 100 && !own_processes().empty(); ++i) std::this_thread::sleep_for(milliseconds(100));
    EXPECT_TRUE(own_processes().empty());
  }
  /// Waits until the run has got so far.
  bool reach(Process& process, const std::string& run, const std::string& file) const {
    while (!process.ended(milliseconds(2)))
      if (fs::exists(folder_ / (run + "/" + file))) return true;
    return false;
  }
  /// Waits until the run has a checkpoint of this update or a later one.
  bool reach_update(Process& process, const std::string& run, int update) const {
    const std::string name = fmt::format("update-{:09}", update);
    while (!process.ended(milliseconds(2))) {
      std::error_code ignored;
      for (const auto& entry : fs::directory_iterator(folder_ / (run + "/checkpoints"), ignored))
        if (entry.path().filename().string() >= name) return true;
    }
    return false;
  }
  /// A script that runs the program, in one process with something before it.
  std::string script(int rank, const std::string& before) const {
    const std::string path = folder_ / "script";
    write_file_atomically(path, fmt::format("#!/bin/sh\nif [ \"$OMPI_COMM_WORLD_RANK\" = {} ]; then {}; fi\n"
                                            "exec {} \"$@\"\n",
                                            rank, before, SIXFOLD_BINARY));
    ::chmod(path.c_str(), 0755);
    return path;
  }

  TemporaryFolder folder_;
  const std::string config_ = write_small_training(folder_.path());
  std::vector<std::string> shared_;
};

TEST_F(Mpi, TwoProcessesMakeWhatOneMakes) {
  EXPECT_EQ(Process(training("one"), log()).wait(), 0) << read_file(log());
  Process two = start(2, training("two"));
  EXPECT_EQ(two.wait(), 0) << read_file(log());
  EXPECT_EQ(first_difference(contents("one"), contents("two")), "");
  // only one of them speaks
  const std::string said = read_file(log());
  EXPECT_EQ(said.find("done: "), said.rfind("done: ")) << said;
}

/// Two copies of a command that does not share its work would do it twice, into the same files.
TEST_F(Mpi, CommandsForOneProcessAreRefusedOnce) {
  EXPECT_EQ(start(2, {"info", folder_.path()}).wait(), 2) << read_file(log());
  const std::string said = read_file(log());
  EXPECT_NE(said.find("error: 2 processes were started together, but info is done by one process"), said.npos)
      << said;
  EXPECT_EQ(said.find("error: "), said.rfind("error: ")) << said;
}

/// A launcher of another MPI, or without one, starts processes that don't find each other: each would take
/// itself for the only one.
TEST_F(Mpi, ProcessesOfAnotherLauncherAreRefused) {
  std::vector<std::string> foreign = environment;
  foreign.insert(foreign.end(), {"PMI_RANK=0", "PMI_SIZE=2"});
  EXPECT_EQ(Process(training("run"), log(), foreign).wait(), 1);
  EXPECT_NE(read_file(log()).find("2 processes were started together, but MPI knows of 1"), std::string::npos)
      << read_file(log());
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  // The interactive shell of a job of Slurm is no step.
  EXPECT_EQ(
      Process(training("run"), log(), {"SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=4294967290"}).wait(),
      0)
      << read_file(log());
}

TEST_F(Mpi, SlowAnyNumberOfProcessesAndAnyNetworkMakeTheSame) {
  EXPECT_EQ(Process(training("one"), log()).wait(), 0) << read_file(log());
  for (const int processes : {1, 2, 3, 4})
    for (const char* network : {"self,vader", "self,tcp"}) {
      const std::string run = fmt::format("run-{}-{}", processes, network);
      EXPECT_EQ(start(processes, training(run), {"--mca", "btl", network}).wait(), 0) << read_file(log());
      EXPECT_EQ(first_difference(contents("one"), contents(run)), "") << run;
    }
}

/// Killed at several moments, among them those at which the root writes, and resumed with other numbers of
/// processes, a run makes what an unbroken one makes.
TEST_F(Mpi, SlowAKilledProcessEndsAllAndLosesNothing) {
  shared_ = {"train.shards=4", "train.updates=360", "distributed.timeout=30"};
  EXPECT_EQ(Process(training("whole"), log()).wait(), 0) << read_file(log());
  int killed = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const int processes = 2 + attempt % 3, victim = attempt % processes;
    Process run = start(processes, training("broken"));
    if (!reach_update(run, "broken", 15 * (attempt + 1))) break;
    std::this_thread::sleep_for(milliseconds(7 * attempt % 40));
    const pid_t pid = process_of(victim);
    if (pid > 0) ::kill(pid, SIGKILL);
    EXPECT_TRUE(run.ended(milliseconds(30'000)));
    const bool finished = fs::exists(folder_ / "broken/model");
    if (!finished) {
      ++killed;
      EXPECT_NE(run.wait(), 0) << read_file(log());
      const std::string said = read_file(log());  // mpirun names the process, its host and the signal
      EXPECT_NE(said.find(fmt::format("process rank {}", victim)), said.npos) << said;
    }
    expect_no_process_left();
    if (finished) break;
  }
  EXPECT_GT(killed, 15);
  EXPECT_EQ(start(4, training("broken")).wait(), 0) << read_file(log());
  EXPECT_EQ(first_difference(contents("whole"), contents("broken")), "");
}

TEST_F(Mpi, SlowAProcessThatIsStoppedEndsAllWithItsName) {
  shared_ = {"train.shards=4", "train.updates=100000", "distributed.timeout=2"};
  for (const int victim : {0, 2}) {
    fs::remove_all(folder_ / "run");
    Process run = start(3, training("run"));
    ASSERT_TRUE(reach(run, "run", "checkpoints")) << read_file(log());
    const pid_t pid = process_of(victim);
    ASSERT_GT(pid, 0);
    ::kill(pid, SIGSTOP);
    EXPECT_TRUE(run.ended(milliseconds(4000)));  // the timeout, and time for mpirun to end
    EXPECT_NE(run.wait(), 0);
    expect_no_process_left();
    const std::string said = read_file(log());
    EXPECT_NE(said.find(fmt::format("process {} on ", victim)), said.npos) << said;
    EXPECT_NE(said.find("has not answered in time (distributed.timeout: 2 seconds)"), said.npos) << said;
  }
}

TEST_F(Mpi, SlowFailuresOfOneProcessAreSaidOnceWithItsName) {
  // The disk of the root is full.
  {
    Process run = start(2, training("full"), {}, script(0, "ulimit -f 20"));
    EXPECT_TRUE(run.ended(milliseconds(30'000)));
    EXPECT_EQ(run.wait(), 1) << read_file(log());
  }
  std::string said = read_file(log());
  EXPECT_NE(said.find("File too large"), said.npos) << said;
  expect_no_process_left();
  // Another config.
  {
    Process run = start(2, training("other"), {}, script(1, "set -- \"$@\" train.clip_norm=7"));
    EXPECT_TRUE(run.ended(milliseconds(30'000)));
    EXPECT_EQ(run.wait(), 2) << read_file(log());
  }
  said = read_file(log());
  EXPECT_NE(said.find("the config of process 1 on "), said.npos) << said;
  EXPECT_EQ(said.find("error: "), said.rfind("error: ")) << said;
  // One on which depends what the processes ask each other first.
  EXPECT_EQ(start(2, training("precision"), {}, script(1, "set -- \"$@\" train.precision=fp32")).wait(), 2);
  said = read_file(log());
  EXPECT_NE(said.find("the config of process 1 on "), said.npos) << said;
  // Another folder of the run.
  EXPECT_EQ(
      start(2, training("folder"), {}, script(1, "set -- train " + config_ + " --output " + folder_ / "x"))
          .wait(),
      2);
  said = read_file(log());
  EXPECT_NE(said.find("the --output of process 1 on "), said.npos) << said;
  EXPECT_FALSE(fs::exists(folder_ / "x"));
  // An option that only the program of one host knows.
  EXPECT_EQ(start(2, training("option"), {}, script(1, "set -- train --bogus")).wait(), 2);
  said = read_file(log());
  EXPECT_NE(said.find("error: process 1: unknown option --bogus"), said.npos) << said;
  // Another command.
  EXPECT_EQ(start(2, training("command"), {}, script(1, "set -- translate m --input a --output b")).wait(), 2);
  said = read_file(log());
  EXPECT_NE(said.find("the command of process 1 on "), said.npos) << said;
  // A host where the text is missing.
  {
    Process run = start(2, training("text"), {},
                        script(1, "set -- train /missing.yaml --resume --output " + folder_ / "text"));
    EXPECT_TRUE(run.ended(milliseconds(30'000)));
    EXPECT_NE(run.wait(), 0);
  }
  said = read_file(log());
  EXPECT_NE(said.find("error: process 1 on "), said.npos) << said;
  EXPECT_NE(said.find("/missing.yaml"), said.npos) << said;
  expect_no_process_left();
}

/// A run may begin where hosts have folders of their own, but not go on.
TEST_F(Mpi, SlowAHostThatDoesNotSeeTheRunSaysSo) {
  const std::string elsewhere = folder_ / "elsewhere";
  const auto train = [&](int updates) {
    std::vector<std::string> arguments = training("here");
    arguments[3] = "run";  // each host's own
    arguments.push_back(fmt::format("train.updates={}", updates));
    fs::create_directories(folder_ / "here");
    fs::create_directories(elsewhere);
    return start(2, arguments, {"-wdir", folder_ / "here"}, script(1, "cd " + elsewhere)).wait();
  };
  EXPECT_EQ(train(40), 0) << read_file(log());
  EXPECT_NE(train(50), 0) << read_file(log());  // that of the first to end
  const std::string said = read_file(log());
  EXPECT_NE(said.find("error: process 1 on "), said.npos) << said;
  EXPECT_NE(said.find("must be on a file system that all hosts share"), said.npos) << said;
}

/// Hosts may have other files of the same name: a model to start from, or a checkpoint.
TEST_F(Mpi, SlowWeightsAndCheckpointsAreCompared) {
  const auto train = [&](const std::string& seed, const std::string& where, const std::string& updates) {
    fs::create_directories(folder_ / where);
    std::vector<std::string> arguments = training("here");
    arguments[3] = folder_ / (where + "/run");
    arguments.insert(arguments.end(), {"train.seed=" + seed, "train.updates=" + updates});
    return Process(arguments, log()).wait();
  };
  for (const char* where : {"a", "b"}) ASSERT_EQ(train(where == std::string("a") ? "1" : "2", where, "20"), 0);
  const auto both = [&](const std::string& run, std::vector<std::string> more) {
    std::vector<std::string> arguments = training("here");
    arguments[3] = run;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const int status = start(2, arguments, {"-wdir", folder_ / "a"}, script(1, "cd " + folder_ / "b")).wait();
    EXPECT_NE(status, 0);
    return read_file(log());
  };
  const std::string started = both(folder_ / "started", {"start.model=run/model"});
  EXPECT_NE(started.find("the model of process 1 on "), std::string::npos) << started;
  const std::string resumed = both("run", {"train.seed=1"});
  EXPECT_NE(resumed.find("the checkpoint of process 1 on "), std::string::npos) << resumed;
}

TEST_F(Mpi, SlowASignalSavesAndSaysHowToGoOn) {
  EXPECT_EQ(Process(training("whole"), log()).wait(), 0) << read_file(log());
  Process run = start(2, training("broken"));
  ASSERT_TRUE(reach(run, "broken", "checkpoints")) << read_file(log());
  run.send(SIGUSR1);  // mpirun passes it on
  EXPECT_EQ(run.wait(), 128 + SIGUSR1) << read_file(log());
  const std::string said = read_file(log());
  EXPECT_NE(said.find("to resume: sixfold train"), said.npos) << said;
  EXPECT_EQ(start(2, training("broken")).wait(), 0) << read_file(log());
  EXPECT_EQ(first_difference(contents("whole"), contents("broken")), "");
}

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
  EXPECT_NE(read_file(log()).find("layer (null, and was 0)"), std::string::npos) << read_file(log());
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
  EXPECT_NE(read_file(log()).find("\"beam_size\": 2"), std::string::npos) << read_file(log());
  EXPECT_FALSE(fs::exists(folder_ / "output.parts"));
}

TEST_F(MpiTranslation, SlowAHostThatDoesNotSeeThePartsSaysSo) {
  std::vector<std::string> arguments = translation("output");
  *std::find(arguments.begin(), arguments.end(), folder_ / "output") = "output";
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
  EXPECT_NE(read_file(log()).find("holds chunks of another translation: beam_size (2, and was 0)"),
            std::string::npos)
      << read_file(log());
  EXPECT_EQ(Process(translation("output", {"--part", "2/3"}), log()).wait(), 0) << read_file(log());
  EXPECT_TRUE(fs::last_write_time(chunk) == made - std::chrono::hours(1));
  EXPECT_EQ(start(2, translation("output")).wait(), 0) << read_file(log());
  EXPECT_TRUE(read_file(folder_ / "output") == read_file(folder_ / "whole"));
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
