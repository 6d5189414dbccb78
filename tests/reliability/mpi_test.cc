// Training with several processes.
#include "reliability/mpi.h"

namespace sixfold {
namespace {

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
  std::vector<std::string> foreign = mpi_environment;
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
    EXPECT_TRUE(run.ended(milliseconds(8000)));  // the timeout, and time for mpirun on a busy machine
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
  EXPECT_EQ(start(2, training("precision"), {}, script(1, "set -- \"$@\" train.precision=auto")).wait(), 2);
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

}  // namespace
}  // namespace sixfold
