#include "base/cgroup.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/memory.h"
#include "base/threads.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr int64_t mb = 1 << 20;

/// A made-up machine: files below a folder that stands for "/".
class Machine {
 public:
  Machine() {
    write("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n");
    write("proc/self/mountinfo", "22 1 0:21 / /proc rw,relatime - proc proc rw\n");
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  /// A line of mountinfo: the group at the top of the mount, where it is, its type and options.
  void mount(const std::string& group, const std::string& folder, const std::string& type,
             const std::string& options) {
    std::ofstream(root_ / "proc/self/mountinfo", std::ios::app)
        << "30 22 0:30 " << group << " " << folder << " rw,nosuid,relatime shared:9 master:2 - " << type
        << " cgroup " << options << "\n";
  }
  void mount_v2() { mount("/", "/sys/fs/cgroup", "cgroup2", "rw,nsdelegate"); }
  void groups(const std::string& text) { write("proc/self/cgroup", text); }
  /// The files of one group of version 2, below /sys/fs/cgroup.
  void v2(const std::string& group, const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files) write("sys/fs/cgroup/" + group + "/" + name, text + "\n");
  }

  std::optional<int64_t> memory_left() const { return memory_left_by_cgroups(root()); }
  std::optional<double> processors_allowed() const { return processors_allowed_by_cgroups(root()); }
  std::string root() const { return root_.path(); }

 private:
  TemporaryFolder root_;
};

std::string text(int64_t megabytes) { return std::to_string(megabytes * mb); }

TEST(Cgroup, LimitsNothingWhereThereIsNone) {
  Machine machine;
  EXPECT_EQ(machine.memory_left(), std::nullopt);
  machine.groups("0::/\n");
  EXPECT_EQ(machine.memory_left(), std::nullopt);  // not mounted
  machine.mount_v2();
  machine.v2("", {{"memory.stat", "inactive_file 5"}});
  EXPECT_EQ(machine.memory_left(), std::nullopt);
  machine.v2("", {{"memory.max", "max"}, {"memory.current", text(3)}, {"cpu.max", "max 100000"}});
  EXPECT_EQ(machine.memory_left(), std::nullopt);
  EXPECT_EQ(machine.processors_allowed(), std::nullopt);
  EXPECT_EQ(available_memory(machine.root()), 8000000LL * 1024);
}

TEST(Cgroup, PagesOfFilesThatCanBeDroppedAreNotUsed) {
  Machine machine;
  machine.mount_v2();
  machine.groups("0::/\n");
  machine.v2("", {{"memory.max", text(1000)}, {"memory.current", text(990)}});
  EXPECT_EQ(machine.memory_left(), 10 * mb);
  machine.v2("", {{"memory.stat", "anon 1\ninactive_anon 7\nactive_file 9\ninactive_file " + text(800)}});
  EXPECT_EQ(machine.memory_left(), 810 * mb);
  EXPECT_EQ(available_memory(machine.root()), 810 * mb);
  machine.v2("", {{"memory.current", text(700)}});  // read a moment apart: never more than the limit
  EXPECT_EQ(machine.memory_left(), 1000 * mb);
  machine.v2("", {{"memory.current", text(2000)}});  // nor less than nothing
  EXPECT_EQ(machine.memory_left(), 0);
}

TEST(Cgroup, TheTightestOfNestedGroupsCounts) {
  Machine machine;
  machine.mount_v2();
  machine.groups("0::/kubepods/pod1/box\n");
  machine.v2("kubepods",
             {{"memory.max", text(900)}, {"memory.current", text(500)}, {"cpu.max", "300000 100000"}});
  machine.v2("kubepods/pod1",
             {{"memory.max", text(400)}, {"memory.current", text(300)}, {"cpu.max", "75000 50000"}});
  machine.v2("kubepods/pod1/box",
             {{"memory.max", text(300)}, {"memory.current", text(50)}, {"cpu.max", "max 100000"}});
  EXPECT_EQ(machine.memory_left(), 100 * mb);
  EXPECT_EQ(machine.processors_allowed(), 1.5);
  machine.v2("kubepods/pod2", {{"memory.max", "1"}, {"cpu.max", "1 100000"}});  // somebody else's
  EXPECT_EQ(machine.memory_left(), 100 * mb);
  EXPECT_EQ(machine.processors_allowed(), 1.5);
}

TEST(Cgroup, ReadsVersion1) {
  Machine machine;
  machine.mount("/", "/sys/fs/cgroup/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct");
  machine.mount("/", "/sys/fs/cgroup/memory", "cgroup", "rw,memory");
  machine.groups("5:cpu,cpuacct:/docker/12ab\n4:memory:/docker/12ab\n1:name=systemd:/docker/12ab\n");
  const std::string memory = "sys/fs/cgroup/memory/", cpu = "sys/fs/cgroup/cpu,cpuacct/";
  machine.write(memory + "memory.limit_in_bytes", "9223372036854771712\n");  // how version 1 writes "none"
  machine.write(cpu + "cpu.cfs_quota_us", "-1\n");
  machine.write(cpu + "cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(machine.memory_left(), std::nullopt);
  EXPECT_EQ(machine.processors_allowed(), std::nullopt);
  machine.write(memory + "docker/12ab/memory.limit_in_bytes", text(600));
  machine.write(memory + "docker/12ab/memory.usage_in_bytes", text(500));
  machine.write(memory + "docker/12ab/memory.stat", "inactive_file 1\ntotal_inactive_file " + text(200));
  machine.write(cpu + "docker/cpu.cfs_quota_us", "50000\n");
  machine.write(cpu + "docker/cpu.cfs_period_us", "20000\n");
  EXPECT_EQ(machine.memory_left(), 300 * mb);
  EXPECT_EQ(machine.processors_allowed(), 2.5);
}

TEST(Cgroup, ReadsBothVersionsAtOnce) {
  Machine machine;
  machine.mount("/", "/sys/fs/cgroup/memory", "cgroup", "rw,memory");
  machine.mount("/", "/sys/fs/cgroup/unified", "cgroup2", "rw");
  machine.groups("4:memory:/job\n0::/job\n");
  machine.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", text(600));
  machine.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", text(200));
  machine.write("sys/fs/cgroup/unified/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(machine.memory_left(), 400 * mb);
  EXPECT_EQ(machine.processors_allowed(), 1.5);
}

TEST(Cgroup, AContainerMaySeeItsOwnGroupAtTheTop) {
  Machine machine;
  machine.mount("/docker/12ab", "/sys/fs/cgroup/memory", "cgroup", "rw,memory");
  machine.groups("4:memory:/docker/12ab/worker\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", text(600));
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", text(100));
  EXPECT_EQ(machine.memory_left(), 500 * mb);
  machine.write("sys/fs/cgroup/memory/worker/memory.limit_in_bytes", text(60));
  EXPECT_EQ(machine.memory_left(), 60 * mb);
  machine.groups("4:memory:/../elsewhere\n");  // of another name space: what can be seen is the top
  EXPECT_EQ(machine.memory_left(), 500 * mb);
  machine.groups("4:memory:/docker/12abc/worker\n");  // beside the mount, with a name that begins like its own
  EXPECT_EQ(machine.memory_left(), 500 * mb);
}

TEST(Cgroup, DamagedFilesLimitNothing) {
  Machine machine;
  machine.mount_v2();
  std::ofstream(machine.root() + "/proc/self/mountinfo", std::ios::app) << "\n1 2 -\n- - - -\nx y z - a b c\n";
  machine.groups("\n:\n0\nab:cd\n0::/a\n");
  machine.v2("a", {{"memory.max", "many"}, {"memory.stat", "inactive_file"}, {"cpu.max", "5 0"}});
  EXPECT_EQ(machine.memory_left(), std::nullopt);
  EXPECT_EQ(machine.processors_allowed(), std::nullopt);
}

TEST(AvailableThreads, AreNoMoreThanTheQuotaPaysFor) {
  Machine machine;
  machine.mount_v2();
  machine.groups("0::/a/b\n");
  const int all = available_threads(machine.root());
  EXPECT_GE(all, 1);
  machine.v2("a", {{"cpu.max", "100000 100000"}});
  EXPECT_EQ(available_threads(machine.root()), 1);
  machine.v2("a", {{"cpu.max", "20000 100000"}});
  EXPECT_EQ(available_threads(machine.root()), 1);
  machine.v2("a", {{"cpu.max", "900000000 100000"}});
  EXPECT_EQ(available_threads(machine.root()), all);
}

/// A control group below the root group of a controller of version 1, if this process may create one. It is
/// created only if the process is in the root group: a group that somebody put the process into is not changed.
class RealGroup {
 public:
  explicit RealGroup(const std::string& controller)
      : path_("/sys/fs/cgroup/" + controller + "/sixfold-test-" + std::to_string(::getpid())) {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);)
      made_ = made_ || line.ends_with(":" + controller + ":/");
    std::error_code refused;
    made_ = made_ && fs::create_directory(path_, refused) && !refused;
  }
  ~RealGroup() {
    if (made_) ::rmdir(path_.c_str());
  }
  bool set(const std::string& file, const std::string& value) const {
    std::ofstream stream(path_ / file);
    return made_ && stream && (stream << value << std::flush);
  }
  /// The exit status of a process in the group that calls `body`.
  template <class Body>
  int status_within(const Body& body) const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(set("cgroup.procs", "0") ? body() : 100);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }

 private:
  fs::path path_;
  bool made_ = false;
};

TEST(AvailableThreads, AreNoMoreThanARealQuotaPaysFor) {
  const RealGroup group("cpu");
  if (!group.set("cpu.cfs_quota_us", "100000")) GTEST_SKIP() << "no control group can be made here";
  EXPECT_EQ(group.status_within([] { return available_threads(); }), 1);
}

TEST(AvailableMemory, CountsPagesOfAFileThatWasReadAsFree) {
  const RealGroup group("memory");
  if (!group.set("memory.limit_in_bytes", text(256))) GTEST_SKIP() << "no control group can be made here";
  const TemporaryFolder folder;
  EXPECT_EQ(group.status_within([&] {
    std::ofstream(folder / "large") << std::string(200 * mb, 'x') << std::flush;
    return available_memory() > 128 * mb ? 0 : 1;
  }),
            0);
}

}  // namespace
}  // namespace sixfold
