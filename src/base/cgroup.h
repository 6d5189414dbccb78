#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace sixfold {

// The limits of the control groups (cgroups) of this process, of version 2, version 1, or both. The limit of a
// group applies to all groups within it, so the tightest limit between the process's own group and the root
// group counts. `root` is the folder that contains /proc and /sys; tests use one of their own.

/// The number of bytes that the memory limits leave, or nothing if there is no limit. File pages that the
/// kernel can drop at once (inactive_file in memory.stat) do not count as used; Kubernetes counts in the same
/// way.
std::optional<int64_t> memory_left_by_cgroups(const std::string& root = "/");

/// The number of processors that the CPU quotas allow, such as 1.5, or nothing if there is no quota.
std::optional<double> processors_allowed_by_cgroups(const std::string& root = "/");

}  // namespace sixfold
