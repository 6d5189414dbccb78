#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "backend/cpu/bf16.h"
#include "backend/reference/kernels.h"
#include "base/error.h"

namespace sixfold {
namespace {

/// Whether an operand is a matrix of fp64, which the kernels of this folder do not compute with.
template <class Kernel>
bool has_fp64(Kernel kernel) {
  bool found = false;
  kernel.operands([&](const char*, const auto& operand) {
    if constexpr (requires { operand.dtype; }) found = found || (operand && operand.dtype == DType::f64);
  });
  return found;
}

}  // namespace

Scratch::~Scratch() { std::free(data_); }

float* Scratch::floats(int64_t count) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  if (bytes > bytes_) {
    std::free(data_);
    data_ = nullptr;
    bytes_ = 0;
    data_ = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!data_) throw std::bad_alloc();
    bytes_ = bytes;
  }
  return static_cast<float*>(data_);
}

CpuBackend::CpuBackend(int threads, MatmulPrecision products)
    : products_(products), own_pool_(std::max(1, threads)) {
  use_threads(nullptr);
  if (products != MatmulPrecision::bf16) return;
  bf16_ = std::make_shared<const Bf16Kernel>(best_bf16_kernel());
  if (!*bf16_)
    throw_environment_error(
        "this processor has no bf16 products (AMX or AVX512-BF16); set the precision to fp32");
}

std::shared_ptr<Backend> CpuBackend::sibling() const {
  return std::make_shared<CpuBackend>(own_pool_.threads(), products_);
}

void CpuBackend::use_threads(ThreadPool* pool) {
  pool_ = pool ? pool : &own_pool_;
  while (std::ssize(thread_scratch_) < threads()) thread_scratch_.emplace_back();
  while (std::ssize(bits_scratch_) < threads()) bits_scratch_.emplace_back();
}

void CpuBackend::run(KernelCall call) {
  call.visit([this](const auto& kernel) {
    if constexpr (requires { compute(kernel); })
      has_fp64(kernel) ? reference::compute(kernel) : compute(kernel);
    else
      reference::compute(kernel);
  });
}

uint16_t* CpuBackend::bits_buffer(int thread, int64_t features) {
  return reinterpret_cast<uint16_t*>(bits_scratch_[static_cast<size_t>(thread)].floats(features / 2 + 128));
}

float* CpuBackend::row_buffer(int thread, int64_t features) {
  return thread_scratch_[static_cast<size_t>(thread)].floats(features);
}

void CpuBackend::split(int64_t count, int64_t cost, const std::function<void(int64_t, int64_t, int)>& body) {
  constexpr int64_t min_elements = 16384;  // number of elements for which it pays to wake a thread
  const int64_t pieces = std::min<int64_t>({4 * threads(), count, count * cost / min_elements});
  if (threads() == 1 || pieces <= 1) {
    if (count > 0) pool_->run(1, [&](int64_t, int thread) { body(0, count, thread); });
    return;
  }
  pool_->run(pieces,
             [&](int64_t i, int thread) { body(count * i / pieces, count * (i + 1) / pieces, thread); });
}

}  // namespace sixfold
