#include "model/parameters.h"

#include <cmath>

#include "base/random.h"

namespace sixfold {

ParameterMaker::ParameterMaker(std::shared_ptr<Backend> backend, DType dtype, uint64_t seed)
    : backend_(backend), memory_(lasting_memory(std::move(backend))), dtype_(dtype), seed_(seed) {}

Tensor ParameterMaker::make(const std::string& name, int64_t rows, int64_t cols, Initial initial) {
  Tensor tensor(memory_, rows, cols, dtype_);
  RandomStream random(seed_, parameters_.size());
  std::vector<double> values(static_cast<size_t>(rows * cols), initial == Initial::ones ? 1.0 : 0.0);
  const double limit = std::sqrt(6.0 / static_cast<double>(rows + cols)),
               deviation = 1 / std::sqrt(static_cast<double>(cols));
  if (initial == Initial::xavier)
    for (auto& value : values) value = limit * (2 * random.uniform() - 1);
  if (initial == Initial::embedding)
    for (auto& value : values) value = deviation * random.normal();
  tensor.copy_from(*backend_, values);
  tensor.set_wants_gradient(true);
  parameters_.push_back({prefix_ + name, tensor});
  return tensor;
}

}  // namespace sixfold
