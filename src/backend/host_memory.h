#pragma once
#include "backend/backend.h"

namespace sixfold {

/// What the backends that compute in the host's own memory share.
class HostBackend : public Backend {
 public:
  void* allocate(size_t bytes) override;
  void free(void* data, size_t bytes) override;
  void copy_in(void* to, const void* from_host, size_t bytes) override;
  void copy_out(void* to_host, const void* from, size_t bytes) override;
  void gather_rows(View out, View x, const int32_t* rows) override;
};

}  // namespace sixfold
