#pragma once
#include <cstdint>
#include <string>

namespace sixfold {

/// Bytes that this process may still take: what the machine has available, or what its container's limit leaves
/// where that is less (`memory_left_by_cgroups`). 0 where it can't be found out. `root` is the folder that
/// holds /proc and /sys.
int64_t available_memory(const std::string& root = "/");

/// Bytes that this process takes now, and those of them that no file backs.
int64_t resident_memory();
int64_t anonymous_memory();

/// Gives back to the system what the allocator keeps for later.
void trim_memory();

}  // namespace sixfold
