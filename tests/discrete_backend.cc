#include "discrete_backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backend/compose.h"
#include "backend/reference/kernels.h"
#include "backend/reference/reference_backend.h"
#include "base/error.h"

namespace sixfold {
namespace {

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (std::max<size_t>(bytes, 1) + page - 1) / page * page;
}

// Whether a call is of the kind that `compose` takes apart.
bool is_fused(const kernel::Matmul& m) { return m.epilogue.relu || m.epilogue.relu_of; }
bool is_fused(const kernel::ResidualNorm& n) { return static_cast<bool>(n.y); }
bool is_fused(const kernel::ResidualNormGradient& n) { return static_cast<bool>(n.grad_y); }

}  // namespace

DiscreteMemory::~DiscreteMemory() {
  while (!pieces_.empty()) free(const_cast<std::byte*>(pieces_.begin()->first));
}

void* DiscreteMemory::allocate(size_t bytes) {
  const size_t size = whole_pages(bytes);
  const int file = ::memfd_create("discrete", MFD_CLOEXEC);
  void *readable = MAP_FAILED, *device = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, static_cast<off_t>(size)) == 0) {
    readable = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    device = ::mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
  }
  if (file >= 0) ::close(file);
  if (readable == MAP_FAILED || device == MAP_FAILED)
    throw_environment_error("not enough memory for {} more bytes", bytes);
  const std::lock_guard lock(mutex_);
  pieces_[static_cast<std::byte*>(device)] = {static_cast<std::byte*>(readable), size};
  return device;
}

void DiscreteMemory::free(void* device) {
  if (!device) return;
  const std::lock_guard lock(mutex_);
  const auto piece = pieces_.find(static_cast<std::byte*>(device));
  require(piece != pieces_.end(), "what is freed was never allocated here");
  ::munmap(piece->second.readable, piece->second.bytes);
  ::munmap(device, piece->second.bytes);
  pieces_.erase(piece);
}

void* DiscreteMemory::readable(const void* device, int64_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(device);
  const std::lock_guard lock(mutex_);
  const auto after = pieces_.upper_bound(begin);
  if (after == pieces_.begin()) return nullptr;
  const auto& [first, piece] = *std::prev(after);
  const ptrdiff_t offset = begin - first;
  if (offset + bytes > static_cast<ptrdiff_t>(piece.bytes)) return nullptr;
  return piece.readable + offset;
}

std::shared_ptr<Backend> DiscreteBackend::sibling() const {
  auto other = std::make_shared<DiscreteBackend>(fused_);
  other->memory_ = memory_;
  return other;
}

void* DiscreteBackend::readable(const std::string& user, const char* field, const void* device,
                                int64_t bytes) const {
  void* found = memory_->readable(device, bytes);
  require(found, "{}: {} is not in the backend's memory", user, field);
  return found;
}

template <class Operand>
void DiscreteBackend::translate(const std::string& kernel, const char* field, Operand& operand) const {
  if constexpr (std::is_same_v<Operand, View>) {
    if (operand.scales) translate(kernel, field, operand.scales);
    if (operand && operand.extent() > 0) operand.data = readable(kernel, field, operand.data, operand.extent());
  } else if (operand && operand.size > 0) {
    using Element = std::remove_pointer_t<decltype(operand.data)>;
    const int64_t bytes = operand.size * static_cast<int64_t>(sizeof(Element));
    operand.data = static_cast<Element*>(readable(kernel, field, operand.data, bytes));
  }
}

template <class Kernel>
void DiscreteBackend::run_here(Kernel kernel) {
  kernel.operands([&](const char* field, auto& operand) { translate(kernel.name, field, operand); });
  reference::compute(kernel);
}

void DiscreteBackend::run(KernelCall call) {
  call.visit([&](const auto& kernel) {
    if constexpr (requires { is_fused(kernel); })
      if (!fused_ && is_fused(kernel)) {
        ++composed_;
        return compose(*this, kernel);
      }
    run_here(kernel);
  });
}

void DiscreteBackend::upload(void* device, std::span<const std::byte> host) {
  if (!host.empty())
    std::memcpy(readable("upload", "the target", device, std::ssize(host)), host.data(), host.size());
}

void DiscreteBackend::download(std::span<std::byte> host, const void* device) {
  ++downloads_;
  if (!host.empty())
    std::memcpy(host.data(), readable("download", "the source", device, std::ssize(host)), host.size());
}

std::shared_ptr<PackedWeight> DiscreteBackend::pack(View b, bool, void* memory) {
  translate("pack", "b", b);
  const auto bytes = static_cast<int64_t>(ReferenceWeight::bytes(b));
  return std::make_shared<ReferenceWeight>(b, memory ? readable("pack", "memory", memory, bytes) : nullptr);
}

size_t DiscreteBackend::packed_bytes(View b, bool) {
  return b.dtype == DType::i8 ? 0 : ReferenceWeight::bytes(b);
}

}  // namespace sixfold
