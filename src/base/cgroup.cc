#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <vector>

namespace sixfold {
namespace {

// The paths here are strings, and not std::filesystem::path, whose operators crash in the library of GCC 12
// where memory is short.

enum class Version { v1, v2 };

/// An absolute path, looked up below `root` instead of "/".
std::string below(const std::string& root, const std::string& path) { return root + "/" + path; }

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Whether a list such as "cpu,cpuacct" contains the name.
bool lists(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

/// The fields of a line of /proc/self/mountinfo that describe a mount of control groups.
struct Mount {
  std::string group;   ///< the group at the root of the mount
  std::string folder;  ///< where it is mounted
  std::string type, options;
};

std::vector<Mount> read_mounts(const std::string& root) {
  std::vector<Mount> mounts;
  std::ifstream file(below(root, "proc/self/mountinfo"));
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() >= 5 && words.end() - dash >= 4)
      mounts.push_back({words[3], words[4], dash[1], dash[3]});
  }
  return mounts;
}

/// The path of a group relative to another one: "/a/b" relative to "/a" is "/b". The path is empty for the
/// group itself and for a group that is not below the other.
std::string relative_to(std::string ancestor, const std::string& group) {
  if (ancestor.ends_with('/')) ancestor.pop_back();
  return group.starts_with(ancestor + "/") && group != "/" ? group.substr(ancestor.size()) : "";
}

/// Calls `visit` with the folders of a group and of its ancestors, up to the root of the mount. For a group
/// outside the mount, such as one of another namespace, only the root is visited.
void visit_upwards(const Mount& mount, const std::string& group, const std::string& root,
                   const std::function<void(const std::string& folder)>& visit) {
  std::string place = relative_to(mount.group, group);
  if (place.ends_with("/..") || place.find("/../") != place.npos) place.clear();
  for (;; place.resize(place.rfind('/'))) {
    visit(below(root, mount.folder) + place);
    if (place.empty()) return;
  }
}

/// Calls `visit` with the folder of each group that can limit `controller` ("memory" or "cpu") for this
/// process.
void visit_groups(const std::string& controller, const std::string& root,
                  const std::function<void(const std::string& folder, Version version)>& visit) {
  const std::vector<Mount> mounts = read_mounts(root);
  std::ifstream file(below(root, "proc/self/cgroup"));
  for (std::string line; std::getline(file, line);) {  // "4:memory:/docker/12ab", or "0::/user.slice"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const Version version = controllers.empty() ? Version::v2 : Version::v1;
    if (version == Version::v1 && !lists(controllers, controller)) continue;
    const auto fits = [&](const Mount& mount) {
      return version == Version::v2 ? mount.type == "cgroup2"
                                    : mount.type == "cgroup" && lists(mount.options, controller);
    };
    const auto mount = std::find_if(mounts.begin(), mounts.end(), fits);
    if (mount == mounts.end()) continue;
    visit_upwards(*mount, line.substr(second + 1), root,
                  [&](const std::string& folder) { visit(folder, version); });
  }
}

/// The number in a file, or nothing if the file contains "max" or does not exist.
std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// The number that follows `key` in a file of lines "key number", or 0 if there is no such line.
int64_t number_of(const std::string& key, const std::string& path) {
  std::ifstream file(path);
  std::string name;
  for (int64_t number = 0; file >> name >> number;)
    if (name == key) return number;
  return 0;
}

std::optional<int64_t> memory_left_by(const std::string& group, Version version) {
  const bool v2 = version == Version::v2;
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max() / 2;  // v1 writes a number close to 2^63
  const auto limit = number_in(group + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  if (!limit || *limit >= unlimited) return std::nullopt;
  const int64_t usage = number_in(group + (v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  const int64_t droppable = number_of(v2 ? "inactive_file" : "total_inactive_file", group + "/memory.stat");
  return std::clamp<int64_t>(*limit - std::max<int64_t>(0, usage - droppable), 0, *limit);
}

std::optional<double> processors_allowed_by(const std::string& group, Version version) {
  double quota = 0, period = 0;
  if (version == Version::v2) {
    std::ifstream file(group + "/cpu.max");  // "150000 100000" or "max 100000"
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    quota = static_cast<double>(number_in(group + "/cpu.cfs_quota_us").value_or(-1));  // -1: no limit
    period = static_cast<double>(number_in(group + "/cpu.cfs_period_us").value_or(0));
  }
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

template <class Number>
void keep_smaller(std::optional<Number>& smallest, std::optional<Number> found) {
  if (found) smallest = smallest ? std::min(*smallest, *found) : *found;
}

}  // namespace

std::optional<int64_t> memory_left_by_cgroups(const std::string& root) {
  std::optional<int64_t> left;
  visit_groups("memory", root, [&](const std::string& group, Version version) {
    keep_smaller(left, memory_left_by(group, version));
  });
  return left;
}

std::optional<double> processors_allowed_by_cgroups(const std::string& root) {
  std::optional<double> allowed;
  visit_groups("cpu", root, [&](const std::string& group, Version version) {
    keep_smaller(allowed, processors_allowed_by(group, version));
  });
  return allowed;
}

}  // namespace sixfold
