#pragma once
#include "ops/run_op.h"

namespace sixfold {

/// What an op needs to run on the cpu backend with one thread.
struct OnCpu {
  Machine machine = cpu(1);
  std::shared_ptr<Arena> arena = std::make_shared<Arena>(machine.backend);
  Context context{machine.backend, arena};

  Tensor tensor(const HostMatrix& matrix) { return tensor_of(matrix, *machine.backend, arena, machine.dtype); }
  HostMatrix host(const Tensor& x) { return host_copy(x, *machine.backend); }
};

}  // namespace sixfold
