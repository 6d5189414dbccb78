#include "backend/meta_backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"

namespace sixfold {
namespace {

size_t round_up_to_pages(size_t bytes) { return (std::max<size_t>(bytes, 1) + 4095) / 4096 * 4096; }

}  // namespace

void* MetaBackend::allocate(size_t bytes) {
  void* data =
      ::mmap(nullptr, round_up_to_pages(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw_environment_error("not enough address space for {} more bytes", bytes);
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return data;
}

void MetaBackend::free(void* device, size_t bytes) {
  ::munmap(device, round_up_to_pages(bytes));
  in_use_ -= bytes;
}

void MetaBackend::download(std::span<std::byte> host, const void*) {
  std::fill(host.begin(), host.end(), std::byte{0});
}

/// The address range of a packed weight. It is empty if `pack` was given memory.
struct MetaBackend::PackedRange final : PackedWeight {
  PackedRange(DType type, MetaBackend& owner, size_t size)
      : PackedWeight(type), backend(owner), bytes(size), data(bytes > 0 ? owner.allocate(bytes) : nullptr) {}
  ~PackedRange() override {
    if (bytes > 0) backend.free(data, bytes);
  }
  MetaBackend& backend;
  size_t bytes;
  void* data;
};

std::shared_ptr<PackedWeight> MetaBackend::pack(View b, bool transpose_b, void* memory) {
  return std::make_shared<PackedRange>(b.dtype, *this, memory ? 0 : packed_bytes(b, transpose_b));
}

size_t MetaBackend::packed_bytes(View b, bool) {
  return static_cast<size_t>(b.rows * b.cols) * sizeof(float) * 9 /
         8;  // 1/8 more, since kernels pad to whole tiles
}

void MetaBackend::run(KernelCall call) {
  call.visit([&]<class Kernel>(const Kernel& kernel) {
    if constexpr (std::is_same_v<Kernel, kernel::Matmul>) {
      largest_product_ =
          std::max(largest_product_, kernel.a.rows * kernel.a.cols + kernel.b.rows * kernel.b.cols);
      product_operations_ += 2 * static_cast<double>(kernel.a.rows * kernel.a.cols) *
                             static_cast<double>(kernel.transpose_b ? kernel.b.rows : kernel.b.cols);
    }
  });
}

}  // namespace sixfold
