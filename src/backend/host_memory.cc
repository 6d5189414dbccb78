#include "backend/host_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t alignment = 64;         // a cache line, and the widest vector
constexpr size_t largest = PTRDIFF_MAX;  // no object is larger; also keeps the rounding from wrapping around

void copy_bytes(void* to, const void* from, size_t bytes) {
  std::copy_n(static_cast<const std::byte*>(from), bytes, static_cast<std::byte*>(to));
}

}  // namespace

void* HostBackend::allocate(size_t bytes) {
  const size_t rounded = (std::clamp<size_t>(bytes, 1, largest) + alignment - 1) / alignment * alignment;
  void* data = bytes > largest ? nullptr : std::aligned_alloc(alignment, rounded);
  if (!data)
    throw_environment_error("no memory left for {} more bytes; use smaller batches or a smaller model", bytes);
  return data;
}

void HostBackend::free(void* data, size_t) { std::free(data); }

void HostBackend::copy_in(void* to, const void* from_host, size_t bytes) { copy_bytes(to, from_host, bytes); }

void HostBackend::copy_out(void* to_host, const void* from, size_t bytes) { copy_bytes(to_host, from, bytes); }

void HostBackend::gather_rows(View out, View x, const int32_t* rows) {
  const size_t bytes = static_cast<size_t>(x.cols) * size_of(x.dtype);
  for (int64_t r = 0; r < out.rows; ++r) {
    std::memcpy(out.slice_rows(r, 1).data, x.slice_rows(rows[r], 1).data, bytes);
    if (x.scales) const_cast<float*>(out.scales)[r] = x.scales[rows[r]];
  }
}

}  // namespace sixfold
