#include "base/memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sixfold {
namespace {

/// The number behind `key` in a file like /proc/meminfo, in kB there, in bytes here; 0 where it is not.
int64_t kilobytes(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::atoll(line.c_str() + key.size()) * 1024;
  return 0;
}

/// The number in a file; none for "max" and for files that are not there.
int64_t number_in(const std::filesystem::path& path, int64_t none) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : none;
}

/// What the limits of this process's groups leave.
int64_t left_by_groups() {
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  int64_t left = none;
  const auto consider = [&](const std::filesystem::path& folder, const char* limit, const char* usage) {
    const int64_t most = number_in(folder / limit, none);
    if (most < none) left = std::min(left, std::max<int64_t>(0, most - number_in(folder / usage, 0)));
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool v2 = line.starts_with("0::"), v1 = line.find(":memory:") != line.npos;
    if (!v2 && !v1) continue;
    const std::filesystem::path root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    // A group's limit holds for all groups within it.
    for (std::filesystem::path group = line.substr(line.rfind(':') + 1);; group = group.parent_path()) {
      const auto folder = root / group.relative_path();
      if (v2)
        consider(folder, "memory.max", "memory.current");
      else
        consider(folder, "memory.limit_in_bytes", "memory.usage_in_bytes");
      if (!group.has_relative_path()) break;
    }
  }
  return left;
}

}  // namespace

int64_t available_memory() {
  const int64_t machine = kilobytes("/proc/meminfo", "MemAvailable:");
  return machine > 0 ? std::min(machine, left_by_groups()) : 0;
}

int64_t resident_memory() { return kilobytes("/proc/self/status", "VmRSS:"); }

int64_t anonymous_memory() { return kilobytes("/proc/self/status", "RssAnon:"); }

void trim_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace sixfold
