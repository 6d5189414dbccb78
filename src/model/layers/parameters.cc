#include "model/layers/parameters.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace sixfold {

namespace {

std::vector<double> initial_values(int64_t rows, int64_t cols, Initial initial, RandomStream random) {
  std::vector<double> values(static_cast<size_t>(rows * cols));
  const auto uniform = [&](double limit) {
    for (auto& value : values) value = limit * (2 * random.uniform() - 1);
    return values;
  };
  switch (initial) {
    case Initial::zeros:
      return values;
    case Initial::ones:
      std::ranges::fill(values, 1.0);
      return values;
    case Initial::xavier:
      return uniform(std::sqrt(6.0 / static_cast<double>(rows + cols)));
    case Initial::projection:
      return uniform(std::sqrt(6.0 / static_cast<double>(3 * rows + cols)));
    case Initial::filter:
      return uniform(std::sqrt(3.0 / static_cast<double>(rows)));
    case Initial::embedding: {
      const double deviation = 1 / std::sqrt(static_cast<double>(cols));
      for (auto& value : values) value = deviation * random.normal();
      return values;
    }
  }
  throw_unknown("initial value", initial);
}

}  // namespace

struct ParameterBuilder::Made {
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Memory> memory;
  DType dtype;
  std::optional<uint64_t> seed;
  std::vector<Parameter> parameters, buffers;
};

ParameterBuilder::ParameterBuilder(std::shared_ptr<Backend> backend, DType dtype, std::optional<uint64_t> seed)
    : made_(new Made{backend, lasting_memory(backend), dtype, seed, {}, {}}) {}

ParameterBuilder ParameterBuilder::in(const std::string& name) const {
  ParameterBuilder place = *this;
  place.prefix_ += name + ".";
  return place;
}

ParameterBuilder ParameterBuilder::of(ModelPart part) const {
  ParameterBuilder place = *this;
  place.part_ = part;
  return place;
}

const std::shared_ptr<Backend>& ParameterBuilder::backend() const { return made_->backend; }

DType ParameterBuilder::dtype() const { return made_->dtype; }

Tensor ParameterBuilder::matrix(const std::string& name, int64_t out, int64_t in, Initial initial) {
  return make(name, {out, in}, initial, ParameterUse::product);
}

Tensor ParameterBuilder::table(const std::string& name, int64_t rows, int64_t d_model, ParameterUse use) {
  return make(name, {rows, d_model}, Initial::embedding, use);
}

Tensor ParameterBuilder::filters(const std::string& name, int64_t size, int64_t d_model) {
  return make(name, {size, d_model}, Initial::filter, ParameterUse::elementwise);
}

Tensor ParameterBuilder::vector(const std::string& name, int64_t n, Initial initial) {
  return make(name, {n}, initial, ParameterUse::elementwise);
}

Tensor ParameterBuilder::buffer(const std::string& name, int64_t n, Initial initial) {
  Tensor tensor(made_->memory, 1, n, made_->dtype);
  if (made_->seed) tensor.copy_from(*made_->backend, initial_values(1, n, initial, RandomStream(0, 0)));
  made_->buffers.push_back({prefix_ + name, tensor, {n}, ParameterUse::elementwise, part_});
  return tensor;
}

Tensor ParameterBuilder::make(const std::string& name, std::vector<int64_t> shape, Initial initial,
                              ParameterUse use) {
  const int64_t rows = shape.size() == 1 ? 1 : shape[0], cols = shape.back();
  Tensor tensor(made_->memory, rows, cols, made_->dtype);
  if (made_->seed) {
    const RandomStream random(*made_->seed, made_->parameters.size());
    tensor.copy_from(*made_->backend, initial_values(rows, cols, initial, random));
  }
  tensor.set_requires_grad(true);
  made_->parameters.push_back({prefix_ + name, tensor, std::move(shape), use, part_});
  return tensor;
}

std::vector<Parameter> ParameterBuilder::take_parameters() { return std::move(made_->parameters); }

std::vector<Parameter> ParameterBuilder::take_buffers() { return std::move(made_->buffers); }

}  // namespace sixfold
