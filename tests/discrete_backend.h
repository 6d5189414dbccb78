#pragma once
#include <map>
#include <mutex>
#include <string>

#include "backend/backend.h"

namespace sixfold {

/// Memory that is mapped twice: once without any access, which gives the addresses that others see, and once
/// readable, for kernels. Safe to share.
class DiscreteMemory {
 public:
  ~DiscreteMemory();
  DiscreteMemory() = default;
  DiscreteMemory(const DiscreteMemory&) = delete;
  DiscreteMemory& operator=(const DiscreteMemory&) = delete;

  void* allocate(size_t bytes);
  void free(void* device);
  /// Where the kernels find `bytes` bytes from `device` on; nullptr where they are not of this memory.
  void* readable(const void* device, int64_t bytes) const;

 private:
  struct Piece {
    std::byte* readable;
    size_t bytes;
  };
  mutable std::mutex mutex_;
  std::map<const std::byte*, Piece> pieces_;  ///< by the address that others see
};

/// The reference over memory that the host can't touch, as a device's is: what reads or writes a tensor on the
/// host faults, and a kernel that is given the host's memory is refused by name. The op and model tests run on
/// it.
class DiscreteBackend final : public Backend {
 public:
  /// Without `fused` it has no fused kernels: what they are composed of stands in for them (backend/compose.h).
  explicit DiscreteBackend(bool fused = true) : fused_(fused) {}

  std::string name() const override { return "discrete"; }
  bool is_host() const override { return false; }
  std::shared_ptr<Backend> sibling() const override;
  void* allocate(size_t bytes) override { return memory_->allocate(bytes); }
  void free(void* device, size_t) override { memory_->free(device); }
  void upload(void* device, std::span<const std::byte> host) override;
  void download(std::span<std::byte> host, const void* device) override;
  void run(KernelCall call) override;
  std::shared_ptr<PackedWeight> pack(View b, bool transpose_b, void* memory) override;
  size_t packed_bytes(View b, bool transpose_b) override;

  int downloads() const { return downloads_; }  ///< how often the host has waited for kernels
  int composed() const { return composed_; }    ///< kernels that others stood in for

 private:
  template <class Kernel>
  void run_here(Kernel kernel);
  template <class Operand>
  void translate(const std::string& kernel, const char* field, Operand& operand) const;
  void* readable(const std::string& user, const char* field, const void* device, int64_t bytes) const;

  std::shared_ptr<DiscreteMemory> memory_ = std::make_shared<DiscreteMemory>();
  bool fused_;
  int downloads_ = 0, composed_ = 0;
};

}  // namespace sixfold
