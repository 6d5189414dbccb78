#pragma once
#include <cstdint>

namespace sixfold {

/// Bytes that this process may still take: what the machine has available, or what its container's limit leaves
/// where that is less (cgroup v2 and v1). 0 where it can't be found out.
int64_t available_memory();

/// Bytes that this process takes now, and those of them that no file backs.
int64_t resident_memory();
int64_t anonymous_memory();

/// Gives back to the system what the allocator keeps for later.
void trim_memory();

}  // namespace sixfold
