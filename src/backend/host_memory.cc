#include "backend/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t alignment = 64;           // a cache line, and the widest vector
constexpr size_t max_bytes = PTRDIFF_MAX;  // no object is larger; also keeps the rounding from wrapping around
constexpr size_t large = size_t{1} << 20;  // bytes of a block whose pages are given back when it is freed

/// Gives the whole pages of a block back to the system. The allocator of the C library keeps those of freed
/// blocks, which no later block may fit into where tables grow.
void give_back_pages(void* data, size_t bytes) {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = (page - reinterpret_cast<uintptr_t>(data) % page) % page;  // bytes of the first page
  if (bytes > before)
    ::madvise(static_cast<std::byte*>(data) + before, (bytes - before) / page * page, MADV_DONTNEED);
}

}  // namespace

void* HostBackend::allocate(size_t bytes) {
  const size_t rounded = (std::clamp<size_t>(bytes, 1, max_bytes) + alignment - 1) / alignment * alignment;
  void* data = bytes > max_bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (!data)
    throw_environment_error("not enough memory for {} more bytes; use smaller batches or a smaller model",
                            bytes);
  return data;
}

void HostBackend::free(void* device, size_t bytes) {
  if (device && bytes >= large) give_back_pages(device, bytes);
  std::free(device);
}

void HostBackend::upload(void* device, std::span<const std::byte> host) {
  std::copy(host.begin(), host.end(), static_cast<std::byte*>(device));
}

void HostBackend::download(std::span<std::byte> host, const void* device) {
  std::copy_n(static_cast<const std::byte*>(device), host.size(), host.begin());
}

}  // namespace sixfold
