#pragma once
#include <memory>
#include <span>
#include <vector>

#include "model/layers/sequence_state.h"

namespace sixfold {

/// The rows of a layer in a `RowStore`: the widths of their parts, none if the layer stores nothing there, and
/// the type of their elements, which is that of the computation, or bf16.
struct RowShape {
  std::vector<int64_t> widths;
  DType dtype = DType::f32;
};

/// Reference-counted rows of decoding state in several layers. The row of a token has the same index in all
/// layers. A row is free again when it has been released as often as it was allocated and shared. If no row is
/// free, the capacity doubles. For one thread at a time.
class RowStore {
 public:
  static constexpr int64_t min_rows = 256;

  /// `shapes`: for each layer.
  RowStore(std::vector<RowShape> shapes, std::shared_ptr<Backend> backend);

  /// Appends the numbers of `count` free rows to `rows`; each gets a reference count of 1.
  void allocate(int count, std::vector<int32_t>& rows);
  /// Increments the reference counts of rows.
  void share(std::span<const int32_t> rows);
  /// Decrements the reference counts of rows.
  void release(std::span<const int32_t> rows);

  /// Copies the parts of tokens, [tokens, width] each, into `rows`, [1, tokens] i32 on the device.
  void put(int layer, const Tensor& rows, std::span<const Tensor> parts);
  /// The parts of a layer, [rows, width] each; valid until the next `allocate`.
  std::span<const Tensor> parts(int layer) const { return layers_[static_cast<size_t>(layer)]; }

  int64_t rows() const { return std::ssize(references_); }
  int64_t free_rows() const { return std::ssize(free_); }

 private:
  void grow(int64_t rows);

  std::vector<RowShape> shapes_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Memory> memory_;
  std::vector<std::vector<Tensor>> layers_;
  std::vector<int32_t> references_;  // reference count of each row
  std::vector<int32_t> free_;
};

}  // namespace sixfold
