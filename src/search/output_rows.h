#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ops/ops.h"

namespace sixfold {

/// The output layer for all tokens, or for those of a shortlist, with caches of the variants of it that queries
/// ask for. The rows of a shortlist are copied when they are first asked for. For one thread at a time.
class OutputRows {
 public:
  /// All rows of the layer: row i is token i.
  OutputRows(ops::OutputWeights weights, std::shared_ptr<Backend> backend)
      : all_(std::move(weights)), backend_(std::move(backend)) {}
  /// The rows of these tokens; `ids` are ascending.
  OutputRows(ops::OutputWeights all, std::span<const int32_t> ids, std::shared_ptr<Backend> backend)
      : all_(std::move(all)), ids_(ids.begin(), ids.end()), backend_(std::move(backend)) {}

  const ops::OutputWeights& weights();
  int64_t size() const { return ids_.empty() ? all_.weight.rows() : std::ssize(ids_); }
  bool has_all_tokens() const { return ids_.empty(); }
  /// The tokens of a shortlist.
  std::span<const int32_t> ids() const { return ids_; }
  /// The token of a row. A negative number, which stands for no row, is returned as it is.
  int32_t id_of(int32_t row) const { return ids_.empty() || row < 0 ? row : ids_[static_cast<size_t>(row)]; }
  /// The rows of those of the tokens that have one.
  std::vector<int32_t> rows_of(std::span<const int32_t> tokens) const;
  /// The weights with a bias that gives the tokens of these rows probability 0.
  const ops::OutputWeights& without(const std::vector<int32_t>& rows);
  /// The weights of these rows only.
  const ops::OutputWeights& selected(const std::vector<int32_t>& rows);

 private:
  using WeightsByRows = std::vector<std::pair<std::vector<int32_t>, ops::OutputWeights>>;

  ops::OutputWeights all_;
  ops::OutputWeights listed_;  // those of the tokens, or empty
  std::vector<int32_t> ids_;   // token of each row; empty: row i is token i
  std::shared_ptr<Backend> backend_;
  WeightsByRows without_, selected_;
};

}  // namespace sixfold
