#include "tensor/tensor.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

template <class To, class From>
std::vector<To> convert(const std::vector<From>& values) {
  return {values.begin(), values.end()};
}

/// Half precision is a matter of files (`to_floats` of formats/tensor_map.h) and of weights packed for
/// products.
void require_copyable(const Tensor& tensor) {
  require(tensor.dtype() == DType::f32 || tensor.dtype() == DType::f64,
          "the elements of a tensor of type {} can't be copied as numbers; only F32 and F64 can",
          name_of(tensor.dtype()));
}

std::vector<float> int8_values(const View& view) {
  std::vector<float> values;
  for (int64_t r = 0; r < view.rows; ++r)
    for (int64_t c = 0; c < view.cols; ++c)
      values.push_back(static_cast<float>(view.row<int8_t>(r)[c]) * view.scales[r]);
  return values;
}

}  // namespace

Tensor::Tensor(const std::shared_ptr<Memory>& memory, int64_t rows, int64_t cols, DType dtype)
    : state_(std::make_shared<State>()) {
  const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(cols) * size_of(dtype);
  state_->view = {memory->allocate(bytes), dtype, rows, cols, cols};
  state_->bytes = bytes;
  state_->memory = memory;
}

Tensor Tensor::of(View elements, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.state_ = std::make_shared<State>();
  tensor.borrow(elements, std::move(owner));
  return tensor;
}

Tensor Tensor::slice_rows(int64_t begin, int64_t count) const {
  return of(view().slice_rows(begin, count), state_);
}

void Tensor::borrow(View elements, std::shared_ptr<const void> owner) {
  if (state_->memory) state_->memory->free(state_->view.data, state_->bytes);
  state_->memory = nullptr;
  state_->view = elements;
  state_->bytes = bytes();
  state_->owner = std::move(owner);
}

void Tensor::copy_from(Backend& backend, const std::vector<double>& values) {
  require_copyable(*this);
  require(static_cast<int64_t>(values.size()) == size(), "{} values for a tensor of {} x {}", values.size(),
          rows(), cols());
  if (dtype() == DType::f64)
    backend.copy_in(view().data, values.data(), bytes());
  else
    copy_from(backend, convert<float>(values));
}

void Tensor::copy_from(Backend& backend, const std::vector<float>& values) {
  require_copyable(*this);
  require(static_cast<int64_t>(values.size()) == size(), "{} values for a tensor of {} x {}", values.size(),
          rows(), cols());
  if (dtype() == DType::f32)
    backend.copy_in(view().data, values.data(), bytes());
  else
    copy_from(backend, convert<double>(values));
}

std::vector<float> Tensor::to_floats(Backend& backend) const {
  if (dtype() == DType::f64) return convert<float>(to_doubles(backend));
  if (dtype() == DType::i8) return int8_values(view());
  require_copyable(*this);
  std::vector<float> values(static_cast<size_t>(size()));
  backend.copy_out(values.data(), view().data, bytes());
  return values;
}

std::vector<double> Tensor::to_doubles(Backend& backend) const {
  if (dtype() == DType::f32 || dtype() == DType::i8) return convert<double>(to_floats(backend));
  require_copyable(*this);
  std::vector<double> values(static_cast<size_t>(size()));
  backend.copy_out(values.data(), view().data, bytes());
  return values;
}

}  // namespace sixfold
