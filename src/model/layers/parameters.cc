#include "model/layers/parameters.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/join.h"
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

struct ParameterBuilder::Created {
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Memory> memory;
  DType dtype;
  std::optional<uint64_t> seed;
  AdapterConfig adapter_config;
  std::vector<Parameter> parameters, buffers, adapters;
  std::set<std::string> maps;  ///< the names of linear maps that can have adapters
};

void pack(Parameter& parameter, Backend& backend) {
  if (parameter.in_products())
    parameter.tensor.set_packed(backend.pack(parameter.tensor.view(), /*transpose_b=*/true));
}

ParameterBuilder::ParameterBuilder(std::shared_ptr<Backend> backend, DType dtype, std::optional<uint64_t> seed,
                                   AdapterConfig adapters)
    : created_(
          new Created{backend, lasting_memory(backend), dtype, seed, std::move(adapters), {}, {}, {}, {}}) {}

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

const std::shared_ptr<Backend>& ParameterBuilder::backend() const { return created_->backend; }

DType ParameterBuilder::dtype() const { return created_->dtype; }

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
  Tensor tensor(created_->memory, 1, n, created_->dtype);
  if (created_->seed) tensor.copy_from(*created_->backend, initial_values(1, n, initial, RandomStream(0, 0)));
  created_->buffers.push_back({prefix_ + name, tensor, {n}, ParameterUse::elementwise, part_});
  return tensor;
}

ops::Adapter ParameterBuilder::adapter(int64_t out, int64_t in) const {
  if (part_ != ModelPart::encoder && part_ != ModelPart::decoder) return {};
  const std::string map = prefix_.substr(0, prefix_.size() - 1);
  created_->maps.insert(map);
  if (!created_->adapter_config.adapts(map)) return {};
  const int64_t rank = created_->adapter_config.rank;
  const auto add = [&](const char* name, int64_t rows, int64_t cols, Initial initial) {
    Tensor tensor(created_->memory, rows, cols, created_->dtype);
    const RandomStream random(created_->seed.value_or(0), (uint64_t{1} << 32) + created_->adapters.size());
    if (created_->seed) tensor.copy_from(*created_->backend, initial_values(rows, cols, initial, random));
    tensor.set_requires_grad(true);
    created_->adapters.push_back({prefix_ + name, tensor, {rows, cols}, ParameterUse::product, part_, true});
    return tensor;
  };
  // The initial values are those of the LoRA paper, section 4.1: Gaussian for `down` (here of variance 1 / in),
  // and zeros for `up`.
  return {.down = add("lora_A.weight", rank, in, Initial::embedding),
          .up = add("lora_B.weight", out, rank, Initial::zeros),
          .scale = created_->adapter_config.scale()};
}

Tensor ParameterBuilder::make(const std::string& name, std::vector<int64_t> shape, Initial initial,
                              ParameterUse use) {
  const int64_t rows = shape.size() == 1 ? 1 : shape[0], cols = shape.back();
  Tensor tensor(created_->memory, rows, cols, created_->dtype);
  if (created_->seed) {
    const RandomStream random(*created_->seed, created_->parameters.size());
    tensor.copy_from(*created_->backend, initial_values(rows, cols, initial, random));
  }
  tensor.set_requires_grad(true);
  created_->parameters.push_back({prefix_ + name, tensor, std::move(shape), use, part_});
  return tensor;
}

std::vector<Parameter> ParameterBuilder::take_parameters() {
  const AdapterConfig& config = created_->adapter_config;
  for (const std::string& projection : config.rank > 0 ? config.projections : std::vector<std::string>()) {
    AdapterConfig single{.rank = 1, .projections = {projection}};
    if (std::ranges::any_of(created_->maps, [&](const std::string& map) { return single.adapts(map); }))
      continue;
    std::set<std::string> names;
    for (const std::string& map : created_->maps) names.insert(map.substr(map.rfind('.') + 1));
    throw_input_error("start.lora_projections: '{}' is not a linear map of the model's layers; there are {}",
                      projection, join(std::vector<std::string>(names.begin(), names.end())));
  }
  std::vector<Parameter> all = std::move(created_->parameters);
  all.insert(all.end(), created_->adapters.begin(), created_->adapters.end());
  created_->adapters.clear();
  return all;
}

std::vector<Parameter> ParameterBuilder::take_buffers() { return std::move(created_->buffers); }

}  // namespace sixfold
