#include "base/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/cgroup.h"

namespace sixfold {
namespace {

/// The number that follows `key` in a file like /proc/meminfo, converted from kB to bytes, or 0 if there is
/// none.
int64_t kilobytes(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::atoll(line.c_str() + key.size()) * 1024;
  return 0;
}

}  // namespace

int64_t available_memory(const std::string& root) {
  const int64_t machine = kilobytes(root + "/proc/meminfo", "MemAvailable:");
  if (machine <= 0) return 0;
  return std::max<int64_t>(1, std::min(machine, memory_left_by_cgroups(root).value_or(machine)));
}

int64_t resident_memory() { return kilobytes("/proc/self/status", "VmRSS:"); }

int64_t anonymous_memory() { return kilobytes("/proc/self/status", "RssAnon:"); }

std::string bytes_text(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 1e10) return fmt::format("{:.{}f} MB", bytes / 1e6, bytes < 1e7 ? 1 : 0);
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

void trim_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace sixfold
