#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/kernels.h"

namespace sixfold {

class ThreadPool;

/// A weight in the layout that is fastest for a backend's products. Created by `Backend::pack`; only that kind
/// of backend can use it.
struct PackedWeight {
  explicit PackedWeight(DType type) : dtype(type) {}
  virtual ~PackedWeight() = default;
  DType dtype;  ///< type of the weight that was packed
};

/// A kind of memory, and kernels that compute in it. It need not be host memory: the host accesses it only by
/// `upload` and `download`. Kernels do not check what ops have checked, and allocate no memory beyond scratch
/// buffers. A backend may be used by one thread at a time; other threads use its siblings, which share its
/// memory.
class Backend {
 public:
  virtual ~Backend() = default;
  /// The backend and its instruction set: "cpu, AVX3". Results are bitwise reproducible between backends of the
  /// same name.
  virtual std::string name() const = 0;
  /// Whether its memory is host memory. If so, host memory such as a mapped file can be used as a tensor
  /// without a copy.
  virtual bool is_host() const = 0;
  /// Creates a backend of the same kind on the same memory, for use in another thread. Memory and packed
  /// weights of one can be used by the other.
  virtual std::shared_ptr<Backend> sibling() const = 0;

  /// Makes later kernels share their work among the threads of `pool`, which must outlive them, or, if it is
  /// null, among the backend's own threads. Results do not depend on it. Backends that do not use host threads
  /// ignore it.
  virtual void use_threads(ThreadPool* pool) { (void)pool; }

  /// Allocates memory, aligned to 64 bytes. Throws an environment error if there is not enough memory.
  virtual void* allocate(size_t bytes) = 0;
  /// Frees memory of `allocate`; `bytes` must be the size that was allocated.
  virtual void free(void* device, size_t bytes) = 0;
  /// Copies from the host. `host` may be freed after the call.
  virtual void upload(void* device, std::span<const std::byte> host) = 0;
  /// Copies to the host. Waits for the kernels before it; no other function does.
  virtual void download(std::span<std::byte> host, const void* device) = 0;

  /// Runs a kernel: run(kernel::Add{out, a, b}). Kernels run in the order of the calls, and may still be
  /// running when the function returns. Host memory that the call refers to may be freed after it.
  virtual void run(KernelCall call) = 0;

  /// Packs `b` as the right operand of products. Uses `memory`, of `packed_bytes` bytes, if it is given; it
  /// must outlive the result. An int8 matrix, with its scales, can only be packed transposed, and is packed
  /// into memory of its own.
  virtual std::shared_ptr<PackedWeight> pack(View b, bool transpose_b, void* memory = nullptr) = 0;
  /// Size of `memory` for `pack`; 0: it allocates memory of its own.
  virtual size_t packed_bytes(View b, bool transpose_b) = 0;
};

/// Copies elements to the host; see `Backend::download`.
template <class T>
std::vector<T> download(Backend& backend, DeviceSpan<const T> elements) {
  std::vector<T> values(static_cast<size_t>(elements.size));
  backend.download(std::as_writable_bytes(std::span(values)), elements.data);
  return values;
}

/// The type in which products of fp32 tensors are computed.
enum class MatmulPrecision {
  fp32,
  /// Operands are rounded to bf16 and products are summed in fp32; products of small matrices stay in fp32.
  bf16,
};

/// The choice of a backend and its settings.
struct BackendSpec {
  /// "cpu": fp32 with the widest vector instructions of the processor. "reference": plain single-threaded loops
  /// in fp32 and fp64, the specification of the kernels.
  std::string device = "cpu";
  int threads = 1;                                   ///< number of threads of the "cpu" backend
  MatmulPrecision products = MatmulPrecision::fp32;  ///< product type of the "cpu" backend
};

/// Creates a backend. No other function names the classes of backends. Throws an input error for an unknown
/// device, and an environment error if bf16 products are requested and the processor has none.
std::shared_ptr<Backend> make_backend(const BackendSpec& spec = {});

/// Describes the processor features that the kernels use: "AVX3 vectors, bf16 by AMX, int8 by VNNI".
std::string describe_processor();
/// The instructions with which this processor computes bf16 products: "AMX" or "AVX512-BF16"; empty if it has
/// none. The two give different bits.
std::string bf16_instructions();

}  // namespace sixfold
