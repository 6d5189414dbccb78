#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tensor/arena.h"

namespace sixfold {

/// A matrix [rows, cols] that several may hold: copies share the elements. Vectors are [1, n].
class Tensor {
 public:
  Tensor() = default;
  /// Elements are not initialised.
  Tensor(const std::shared_ptr<Memory>& memory, int64_t rows, int64_t cols, DType dtype);

  explicit operator bool() const { return state_ != nullptr; }
  int64_t rows() const;
  int64_t cols() const;
  int64_t size() const { return rows() * cols(); }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype()); }
  DType dtype() const;
  /// An empty view of no tensor.
  View view() const;
  const int32_t* ids() const;
  /// Nobody else holds the elements.
  bool unique() const { return state_.use_count() == 1; }
  bool same_as(const Tensor& other) const { return state_ == other.state_; }

  /// Whether gradients flow here: to weights, and to all that is computed from them.
  bool requires_grad() const;
  void set_requires_grad(bool wants);
  /// The gradient; none where nothing has reached it yet.
  const Tensor& gradient() const;
  void set_gradient(Tensor gradient) const;

  /// A tensor of elements that `owner` keeps.
  static Tensor of(View elements, std::shared_ptr<const void> owner);
  /// Rows [begin, begin + count), which share the elements.
  Tensor slice_rows(int64_t begin, int64_t count) const;

  /// From now on the elements are those of `elements`, in host memory that `owner` keeps. All copies of the
  /// tensor see them; none may write them.
  void borrow(View elements, std::shared_ptr<const void> owner);

  /// The layout for products with this weight, where it was packed (`Backend::pack`, as the right side,
  /// transposed).
  const PackedWeight* packed() const;
  void set_packed(std::shared_ptr<PackedWeight> packed);

  /// Copies from and to the host, between fp32 and fp64, and from int8. Tensors of other types throw.
  void copy_from(Backend& backend, const std::vector<double>& values);
  void copy_from(Backend& backend, const std::vector<float>& values);
  std::vector<double> to_doubles(Backend& backend) const;
  std::vector<float> to_floats(Backend& backend) const;

 private:
  struct State;
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
  std::shared_ptr<Memory> memory;     // gave the elements, or
  std::shared_ptr<const void> owner;  // keeps what was borrowed
  bool requires_grad = false;
  Tensor gradient;
  std::shared_ptr<PackedWeight> packed;
};

inline int64_t Tensor::rows() const { return state_->view.rows; }
inline int64_t Tensor::cols() const { return state_->view.cols; }
inline DType Tensor::dtype() const { return state_->view.dtype; }
inline View Tensor::view() const { return state_ ? state_->view : View{}; }
inline const int32_t* Tensor::ids() const { return state_->view.as<int32_t>(); }
inline bool Tensor::requires_grad() const { return state_ && state_->requires_grad; }
inline void Tensor::set_requires_grad(bool wants) { state_->requires_grad = wants; }
inline const Tensor& Tensor::gradient() const { return state_->gradient; }
inline void Tensor::set_gradient(Tensor gradient) const { state_->gradient = std::move(gradient); }
inline const PackedWeight* Tensor::packed() const { return state_->packed.get(); }
inline void Tensor::set_packed(std::shared_ptr<PackedWeight> packed) { state_->packed = std::move(packed); }

}  // namespace sixfold
