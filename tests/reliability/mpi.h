#pragma once
// Several processes that mpirun starts. Tests are skipped where there is no Open MPI.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "reliability/training.h"
#include "temporary_folder.h"

namespace sixfold {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// mpirun on one machine, whatever it is: as root, with more processes than processors, without ssh.
inline const std::vector<std::string> mpi_environment{
    "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
    "OMPI_MCA_hwloc_base_binding_policy=none", "OMPI_MCA_plm=isolated",
    "OMPI_MCA_btl_vader_single_copy_mechanism=none",
    // What MPI's own modules leave is not known by name after its end.
    "ASAN_OPTIONS=detect_leaks=0"};

/// Whether it starts programs here: a container may forbid what it needs.
inline bool has_mpi() {
  std::string command = "env";
  for (const std::string& variable : mpi_environment) command += " " + variable;
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
    return Process(how, log(), mpi_environment, "mpirun");
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

}  // namespace sixfold
