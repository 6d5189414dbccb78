#include "model/parameters.h"

#include <cmath>

#include "base/random.h"

namespace sixfold {

namespace {

std::vector<double> initial_values(int64_t rows, int64_t cols, Initial initial, RandomStream random) {
  std::vector<double> values(static_cast<size_t>(rows * cols), initial == Initial::ones ? 1.0 : 0.0);
  const int64_t fan_out = initial == Initial::projection ? 3 * rows : rows;
  const double limit = std::sqrt(6.0 / static_cast<double>(fan_out + cols)),
               deviation = 1 / std::sqrt(static_cast<double>(cols));
  if (initial == Initial::xavier || initial == Initial::projection)
    for (auto& value : values) value = limit * (2 * random.uniform() - 1);
  if (initial == Initial::embedding)
    for (auto& value : values) value = deviation * random.normal();
  return values;
}

}  // namespace

ParameterBuilder::ParameterBuilder(std::shared_ptr<Backend> backend, DType dtype, std::optional<uint64_t> seed)
    : backend_(backend), memory_(lasting_memory(std::move(backend))), dtype_(dtype), seed_(seed) {}

Tensor ParameterBuilder::make(const std::string& name, int64_t rows, int64_t cols, Initial initial) {
  Tensor tensor(memory_, rows, cols, dtype_);
  if (seed_)
    tensor.copy_from(*backend_, initial_values(rows, cols, initial, RandomStream(*seed_, parameters_.size())));
  tensor.set_requires_grad(true);
  const bool vector = initial == Initial::ones || initial == Initial::zeros;
  parameters_.push_back(
      {prefix_ + name, tensor, vector ? std::vector<int64_t>{cols} : std::vector<int64_t>{rows, cols}});
  return tensor;
}

}  // namespace sixfold
