#include "model/row_store.h"

#include <algorithm>
#include <numeric>

namespace sixfold {

RowStore::RowStore(std::vector<RowShape> shapes, std::shared_ptr<Backend> backend)
    : shapes_(std::move(shapes)),
      backend_(std::move(backend)),
      memory_(lasting_memory(backend_)),
      layers_(shapes_.size()) {}

void RowStore::allocate(int count, std::vector<int32_t>& rows) {
  if (free_rows() < count) grow(std::max({min_rows, 2 * this->rows(), this->rows() + count}));
  const auto taken = free_.end() - count;
  for (auto row = taken; row != free_.end(); ++row) references_[static_cast<size_t>(*row)] = 1;
  rows.insert(rows.end(), taken, free_.end());
  free_.erase(taken, free_.end());
}

void RowStore::share(std::span<const int32_t> rows) {
  for (const int32_t row : rows) ++references_[static_cast<size_t>(row)];
}

void RowStore::release(std::span<const int32_t> rows) {
  for (const int32_t row : rows)
    if (--references_[static_cast<size_t>(row)] == 0) free_.push_back(row);
}

void RowStore::put(int layer, const Tensor& rows, std::span<const Tensor> parts) {
  const auto& to = layers_[static_cast<size_t>(layer)];
  for (size_t i = 0; i < to.size(); ++i)
    backend_->run(kernel::CopyRows{to[i].view(), rows.ids(), parts[i].view()});
}

/// If memory runs out, some parts have grown and others have not, but the number of rows is unchanged and no
/// row is lost.
void RowStore::grow(int64_t rows) {
  const int64_t before = this->rows();
  references_.reserve(static_cast<size_t>(rows));
  free_.reserve(static_cast<size_t>(rows));
  std::vector<int32_t> old_places(static_cast<size_t>(before));
  std::iota(old_places.begin(), old_places.end(), 0);
  const Tensor places = Tensor::of_ids(*backend_, memory_, old_places);
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    const auto& [widths, dtype] = shapes_[layer];
    layers_[layer].resize(widths.size());
    for (size_t i = 0; i < widths.size(); ++i) {
      Tensor larger(memory_, rows, widths[i], dtype);
      Tensor& part = layers_[layer][i];
      if (part) backend_->run(kernel::CopyRows{larger.view(), places.ids(), part.view().slice_rows(0, before)});
      part = std::move(larger);
    }
  }
  references_.resize(static_cast<size_t>(rows));
  for (int64_t row = rows; row-- > before;) free_.push_back(static_cast<int32_t>(row));
}

}  // namespace sixfold
