#include "search/output_rows.h"

#include <algorithm>
#include <limits>

namespace sixfold {
namespace {

/// The bias of the output layer with -infinity for some rows.
Tensor bias_without(const ops::OutputWeights& output, const std::vector<int32_t>& rows,
                    const std::shared_ptr<Backend>& backend) {
  std::vector<float> values(static_cast<size_t>(output.weight.rows()));
  if (output.bias) values = output.bias.to_floats(*backend);
  for (const int32_t row : rows) values[static_cast<size_t>(row)] = -std::numeric_limits<float>::infinity();
  const DType dtype = output.weight.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Tensor bias(lasting_memory(backend), 1, std::ssize(values), dtype);
  bias.copy_from(*backend, values);
  return bias;
}

/// Returns the weights of these rows from the cache `all`. If it does not have them, adds those that `make`
/// returns.
template <class Make>
const ops::OutputWeights& find_or_make(std::vector<std::pair<std::vector<int32_t>, ops::OutputWeights>>& all,
                                       const std::vector<int32_t>& rows, const Make& make) {
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const auto& weights) { return weights.first == rows; });
  if (known != all.end()) return known->second;
  constexpr size_t max_cached = 16;
  if (all.size() == max_cached) all.clear();
  return all.emplace_back(rows, make()).second;
}

}  // namespace

std::vector<int32_t> OutputRows::rows_of(std::span<const int32_t> tokens) const {
  if (ids_.empty()) return {tokens.begin(), tokens.end()};
  std::vector<int32_t> rows;
  for (const int32_t token : tokens)
    if (const auto found = std::lower_bound(ids_.begin(), ids_.end(), token);
        found != ids_.end() && *found == token)
      rows.push_back(static_cast<int32_t>(found - ids_.begin()));
  return rows;
}

const ops::OutputWeights& OutputRows::weights() {
  if (ids_.empty()) return all_;
  if (!listed_.weight) listed_ = ops::select_outputs(backend_, all_, ids_);
  return listed_;
}

const ops::OutputWeights& OutputRows::without(const std::vector<int32_t>& rows) {
  if (rows.empty()) return weights();
  return find_or_make(without_, rows, [&] {
    ops::OutputWeights others = weights();
    others.bias = bias_without(others, rows, backend_);
    return others;
  });
}

const ops::OutputWeights& OutputRows::selected(const std::vector<int32_t>& rows) {
  return find_or_make(selected_, rows, [&] {
    std::vector<int32_t> tokens;
    for (const int32_t row : rows) tokens.push_back(id_of(row));
    return ops::select_outputs(backend_, all_, tokens);
  });
}

}  // namespace sixfold
