#include "backend/reference/reference_backend.h"

#include <algorithm>

#include "backend/reference/kernels.h"

namespace sixfold {

ReferenceWeight::ReferenceWeight(View b, void* memory) : PackedWeight(b.dtype) {
  if (!memory) own_.resize(bytes(b));
  view = {memory ? memory : own_.data(), b.dtype, b.rows, b.cols, b.cols};
  for (int64_t r = 0; r < b.rows; ++r)
    std::copy_n(static_cast<const std::byte*>(b.slice_rows(r, 1).data), b.slice_rows(r, 1).extent(),
                static_cast<std::byte*>(view.slice_rows(r, 1).data));
  if (!b.scales) return;
  scales_.assign(b.scales.data, b.scales.data + b.scales.size);
  view.scales = {scales_.data(), b.scales.size};
}

void ReferenceBackend::run(KernelCall call) {
  call.visit([](const auto& kernel) { reference::compute(kernel); });
}

std::shared_ptr<PackedWeight> ReferenceBackend::pack(View b, bool, void* memory) {
  return std::make_shared<ReferenceWeight>(b, memory);
}

size_t ReferenceBackend::packed_bytes(View b, bool) {
  return b.dtype == DType::i8 ? 0 : ReferenceWeight::bytes(b);
}

}  // namespace sixfold
