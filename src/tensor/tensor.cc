#include "tensor/tensor.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

template <class To, class From>
std::vector<To> convert(const std::vector<From>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Tensor::Tensor(const std::shared_ptr<Memory>& memory, int64_t rows, int64_t cols, DType dtype)
    : state_(std::make_shared<State>()) {
  const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(cols) * size_of(dtype);
  state_->view = {memory->take(bytes), dtype, rows, cols, cols};
  state_->bytes = bytes;
  state_->memory = memory;
}

void Tensor::copy_from(Backend& backend, const std::vector<double>& values) const {
  require(static_cast<int64_t>(values.size()) == size(), "{} values for a tensor of {} x {}", values.size(),
          rows(), cols());
  if (dtype() == DType::f64)
    backend.copy_in(view().data, values.data(), bytes());
  else
    copy_from(backend, convert<float>(values));
}

void Tensor::copy_from(Backend& backend, const std::vector<float>& values) const {
  require(static_cast<int64_t>(values.size()) == size(), "{} values for a tensor of {} x {}", values.size(),
          rows(), cols());
  if (dtype() == DType::f32)
    backend.copy_in(view().data, values.data(), bytes());
  else
    copy_from(backend, convert<double>(values));
}

std::vector<float> Tensor::to_floats(Backend& backend) const {
  if (dtype() == DType::f64) return convert<float>(to_doubles(backend));
  std::vector<float> values(static_cast<size_t>(size()));
  backend.copy_out(values.data(), view().data, bytes());
  return values;
}

std::vector<double> Tensor::to_doubles(Backend& backend) const {
  if (dtype() == DType::f32) return convert<double>(to_floats(backend));
  std::vector<double> values(static_cast<size_t>(size()));
  backend.copy_out(values.data(), view().data, bytes());
  return values;
}

}  // namespace sixfold
