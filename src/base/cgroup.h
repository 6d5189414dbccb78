#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace sixfold {

// The limits of the control groups that this process is in: of version 2, of version 1, and of both at once. A
// group's limit holds for all groups within it, so that the tightest one between the process's own group and
// the top counts. `root` is the folder that holds /proc and /sys; tests give one of their own.

/// Bytes that memory limits leave, or none where nothing is limited. Pages of files that the kernel can drop
/// at once (inactive_file in memory.stat) do not count as used, which is how Kubernetes counts too.
std::optional<int64_t> memory_left_by_cgroups(const std::string& root = "/");

/// Processors that CPU quotas pay for, such as 1.5, or none where nothing is limited.
std::optional<double> processors_paid_by_cgroups(const std::string& root = "/");

}  // namespace sixfold
