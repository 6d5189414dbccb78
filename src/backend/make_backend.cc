#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "base/error.h"

namespace sixfold {

std::shared_ptr<Backend> make_backend(const BackendSpec& spec) {
  if (spec.device == "cpu") return std::make_shared<CpuBackend>(spec.threads, spec.products);
  if (spec.device == "reference") return std::make_shared<ReferenceBackend>();
  throw_input_error("unknown backend '{}'; the backends are cpu and reference", spec.device);
}

}  // namespace sixfold
