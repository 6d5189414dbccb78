#include "backend/host_memory.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t alignment = 64;           // a cache line, and the widest vector
constexpr size_t max_bytes = PTRDIFF_MAX;  // no object is larger; also keeps the rounding from wrapping around

}  // namespace

void* HostBackend::allocate(size_t bytes) {
  const size_t rounded = (std::clamp<size_t>(bytes, 1, max_bytes) + alignment - 1) / alignment * alignment;
  void* data = bytes > max_bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (!data)
    throw_environment_error("not enough memory for {} more bytes; use smaller batches or a smaller model",
                            bytes);
  return data;
}

void HostBackend::free(void* device, size_t) { std::free(device); }

void HostBackend::upload(void* device, std::span<const std::byte> host) {
  std::copy(host.begin(), host.end(), static_cast<std::byte*>(device));
}

void HostBackend::download(std::span<std::byte> host, const void* device) {
  std::copy_n(static_cast<const std::byte*>(device), host.size(), host.begin());
}

}  // namespace sixfold
