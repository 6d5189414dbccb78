#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ops/arena.h"

namespace sixfold {

/// A matrix [rows, cols] in a backend's memory. Copies of a tensor share its elements. Vectors are [1, n]. A
/// default-constructed tensor is empty: it converts to false. Several threads may read the elements of a
/// tensor; all other operations are for one thread at a time.
class Tensor {
 public:
  Tensor() = default;
  /// The elements are not initialized.
  Tensor(const std::shared_ptr<Memory>& memory, int64_t rows, int64_t cols, DType dtype);

  explicit operator bool() const { return state_ != nullptr; }
  int64_t rows() const;
  int64_t cols() const;
  int64_t size() const { return rows() * cols(); }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype()); }
  DType dtype() const;
  /// A view of the elements; an empty view if the tensor is empty. Throws an error if they were taken.
  View view() const;
  /// The elements of an i32 tensor; an empty span if the tensor is empty.
  DeviceSpan<const int32_t> ids() const;
  /// Whether no other tensor shares the elements.
  bool unique() const { return holders() == 1; }
  /// The number of tensors that share the elements, this one included.
  int64_t holders() const { return state_.use_count(); }
  /// Whether both tensors share their elements.
  bool same_as(const Tensor& other) const { return state_ == other.state_; }

  /// Whether the tensor needs a gradient: weights in training, and everything that is computed from them.
  bool requires_grad() const;
  void set_requires_grad(bool needs_gradient);
  /// The gradient; empty as long as no op has added to it.
  const Tensor& gradient() const;
  void set_gradient(Tensor gradient) const;

  /// Uploads ids as [1, n] i32; returns an empty tensor if there are no ids.
  static Tensor of_ids(Backend& backend, const std::shared_ptr<Memory>& memory, std::span<const int32_t> ids);
  /// Creates an int8 matrix from its elements and its scales, [1, rows] or [rows, 2 * groups] (View::scales).
  static Tensor of_int8(const Tensor& elements, const Tensor& scales);
  /// Creates a tensor over existing elements, which `owner` keeps alive.
  static Tensor of(View elements, std::shared_ptr<const void> owner);
  /// Returns rows [begin, begin + count), which share the elements.
  Tensor slice_rows(int64_t begin, int64_t count) const;

  /// Whether the elements must not be overwritten: the backward function of an op reads them, or the tensor
  /// does not own the memory.
  bool kept() const;
  void set_kept() const;
  /// Moves the elements to the tensor that is returned, which may overwrite them. This tensor and its copies
  /// keep their shape and gradient, but reading their elements is an error. Throws an error if the elements are
  /// kept.
  Tensor take() const;

  /// Replaces the elements by `elements`, in the backend's memory, which `owner` keeps alive. All copies of the
  /// tensor see the new elements. They must not be written.
  void borrow(View elements, std::shared_ptr<const void> owner);

  /// Frees the elements of a weight that is read in its packed layout alone. Reading them is an error from then
  /// on.
  void release();

  /// The packed layout of this weight, or null if it was not packed (`Backend::pack`, as the transposed right
  /// side).
  const PackedWeight* packed() const;
  void set_packed(std::shared_ptr<PackedWeight> packed);

  /// Copies the elements to the host, and waits for the kernels before. Throws an input error unless T is their
  /// type.
  template <class T>
  std::vector<T> to_host(Backend& backend) const;
  /// Returns the element of an f64 tensor [1, 1]. Waits for the kernels before.
  double item(Backend& backend) const { return to_host<double>(backend).at(0); }
  /// Copy from and to the host, with conversion between fp32 and fp64, and from int8. Copies to the host wait
  /// for the kernels before. Throw an input error for other types or another number of values.
  void copy_from(Backend& backend, const std::vector<double>& values);
  void copy_from(Backend& backend, const std::vector<float>& values);
  std::vector<double> to_doubles(Backend& backend) const;
  std::vector<float> to_floats(Backend& backend) const;

 private:
  struct State;
  [[noreturn]] static void throw_taken();
  std::shared_ptr<State> state_;
};

struct Tensor::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (memory) memory->free(view.data, bytes);
  }
  View view;
  size_t bytes = 0;
  std::shared_ptr<Memory> memory;     // from which the elements were allocated; null if they are borrowed
  std::shared_ptr<const void> owner;  // keeps borrowed elements alive
  bool requires_grad = false, kept = false, taken = false;
  Tensor gradient;
  std::shared_ptr<PackedWeight> packed;
};

inline int64_t Tensor::rows() const { return state_->view.rows; }
inline int64_t Tensor::cols() const { return state_->view.cols; }
inline DType Tensor::dtype() const { return state_->view.dtype; }
inline View Tensor::view() const {
  if (!state_) return {};
  if (state_->taken) throw_taken();
  return state_->view;
}
inline DeviceSpan<const int32_t> Tensor::ids() const { return view().span<const int32_t>(); }
inline bool Tensor::kept() const { return state_->kept || !state_->memory; }
inline void Tensor::set_kept() const { state_->kept = true; }
inline bool Tensor::requires_grad() const { return state_ && state_->requires_grad; }
inline void Tensor::set_requires_grad(bool needs_gradient) { state_->requires_grad = needs_gradient; }
inline const Tensor& Tensor::gradient() const { return state_->gradient; }
inline void Tensor::set_gradient(Tensor gradient) const { state_->gradient = std::move(gradient); }
inline const PackedWeight* Tensor::packed() const { return state_->packed.get(); }
inline void Tensor::set_packed(std::shared_ptr<PackedWeight> packed) { state_->packed = std::move(packed); }

}  // namespace sixfold
