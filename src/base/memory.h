#pragma once
#include <cstdint>
#include <string>

namespace sixfold {

/// The number of bytes that this process can still allocate: the memory that the machine has available, or what
/// the limit of its container leaves if that is less (`memory_left_by_cgroups`). Returns 0 if it is not known.
/// `root` is the folder that contains /proc and /sys.
int64_t available_memory(const std::string& root = "/");

/// The resident memory of this process in bytes, and the part of it that is not backed by files.
int64_t resident_memory();
int64_t anonymous_memory();

/// A number of bytes for people: "512 B", "20.5 kB", "1.3 MB", "134 MB", "24.0 GB".
std::string bytes_text(double bytes);

/// Returns free memory of the allocator to the system.
void trim_memory();

}  // namespace sixfold
