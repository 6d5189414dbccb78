#pragma once
#include "backend/backend.h"

namespace sixfold {

/// The common part of all backends that compute in host memory. Kernels have finished when `run` returns.
class HostBackend : public Backend {
 public:
  bool is_host() const override { return true; }
  void* allocate(size_t bytes) override;
  void free(void* device, size_t bytes) override;
  void upload(void* device, std::span<const std::byte> host) override;
  void download(std::span<std::byte> host, const void* device) override;
};

}  // namespace sixfold
