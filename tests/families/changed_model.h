#pragma once
#include "base/random.h"
#include "model/transformer.h"

namespace sixfold {

/// A model whose weights, also those of norms and biases, are not what they begin with: `spread` is the
/// standard deviation of what is added to them.
inline Transformer changed_model(const ModelConfig& config, double spread = 0.1) {
  Transformer model(config, make_backend({.device = "reference"}), DType::f32, 5);
  for (Parameter& parameter : model.parameters()) {
    auto values = parameter.tensor.to_floats(*model.backend());
    RandomStream random(17, values.size());
    for (float& value : values) value += static_cast<float>(spread * random.normal());
    parameter.tensor.copy_from(*model.backend(), values);
  }
  return model;
}

}  // namespace sixfold
