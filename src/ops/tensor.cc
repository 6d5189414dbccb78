#include "ops/tensor.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

template <class To, class From>
std::vector<To> convert(const std::vector<From>& values) {
  return {values.begin(), values.end()};
}

/// Half precision occurs only in files (`to_floats` of formats/tensor_map.h) and in packed weights.
void require_copyable(const Tensor& tensor) {
  require(tensor.dtype() == DType::f32 || tensor.dtype() == DType::f64,
          "the elements of a tensor of type {} can't be copied as numbers; only F32 and F64 can",
          name_of(tensor.dtype()));
}

/// The values of int8 elements, in rows of `cols`, with their scales (View::scales).
std::vector<float> scaled(const View& view, const std::vector<int8_t>& elements,
                          const std::vector<float>& scales) {
  constexpr auto size = static_cast<size_t>(columns_of_group(4));
  const auto cols = static_cast<size_t>(view.cols), groups = (cols + size - 1) / size;
  std::vector<float> values;
  values.reserve(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto number = static_cast<float>(elements[i]);
    const size_t group = 2 * (i / cols * groups + i % cols / size);
    values.push_back(view.bits() == 8 ? number * scales[i / cols] : number * scales[group] + scales[group + 1]);
  }
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

Tensor Tensor::of_ids(Backend& backend, const std::shared_ptr<Memory>& memory, std::span<const int32_t> ids) {
  if (ids.empty()) return {};
  Tensor tensor(memory, 1, std::ssize(ids), DType::i32);
  backend.upload(tensor.view().data, std::as_bytes(ids));
  return tensor;
}

Tensor Tensor::of_int8(const Tensor& elements, const Tensor& scales) {
  View view = elements.view();
  view.scales = scales.view().span<const float>();
  return of(view, std::make_shared<const std::pair<Tensor, Tensor>>(elements, scales));
}

Tensor Tensor::of(View elements, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.state_ = std::make_shared<State>();
  tensor.borrow(elements, std::move(owner));
  return tensor;
}

Tensor Tensor::slice_rows(int64_t begin, int64_t count) const {
  set_kept();
  return of(view().slice_rows(begin, count), state_);
}

Tensor Tensor::take() const {
  require(!kept(), "the elements of a tensor that must stay as they are can't be taken");
  Tensor taken;
  taken.state_ = std::make_shared<State>();
  taken.state_->view = view();
  taken.state_->bytes = state_->bytes;
  taken.state_->memory = std::move(state_->memory);
  state_->view.data = nullptr;
  state_->taken = true;
  return taken;
}

void Tensor::release() {
  View elements = view();
  elements.data = nullptr, elements.scales = {};
  borrow(elements, nullptr);
  state_->taken = true;
}

void Tensor::throw_taken() {
  throw_input_error("an op reads a tensor whose elements an earlier op has overwritten, or that was released");
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
    backend.upload(view().data, std::as_bytes(std::span(values)));
  else
    copy_from(backend, convert<float>(values));
}

void Tensor::copy_from(Backend& backend, const std::vector<float>& values) {
  require_copyable(*this);
  require(static_cast<int64_t>(values.size()) == size(), "{} values for a tensor of {} x {}", values.size(),
          rows(), cols());
  if (dtype() == DType::f32)
    backend.upload(view().data, std::as_bytes(std::span(values)));
  else
    copy_from(backend, convert<double>(values));
}

template <class T>
std::vector<T> Tensor::to_host(Backend& backend) const {
  require(dtype() == dtype_of<T>(), "a tensor of type {} can't be copied as one of {}", name_of(dtype()),
          name_of(dtype_of<T>()));
  return download(backend, view().span<const T>());
}
template std::vector<float> Tensor::to_host(Backend&) const;
template std::vector<double> Tensor::to_host(Backend&) const;
template std::vector<int32_t> Tensor::to_host(Backend&) const;
template std::vector<int8_t> Tensor::to_host(Backend&) const;

std::vector<float> Tensor::to_floats(Backend& backend) const {
  if (dtype() == DType::f64) return convert<float>(to_doubles(backend));
  if (dtype() == DType::i8) return scaled(view(), to_host<int8_t>(backend), download(backend, view().scales));
  require_copyable(*this);
  return to_host<float>(backend);
}

std::vector<double> Tensor::to_doubles(Backend& backend) const {
  if (dtype() == DType::f32 || dtype() == DType::i8) return convert<double>(to_floats(backend));
  require_copyable(*this);
  return to_host<double>(backend);
}

}  // namespace sixfold
