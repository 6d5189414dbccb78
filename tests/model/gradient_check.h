#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "model/small_model.h"

namespace sixfold {

/// The gradients that the weights of a model in fp64 hold are those of `loss`: for each parameter, the slope
/// along one random direction through all of its values, by central differences. `tolerance` is relative to the
/// slope, or to 0.01 if that is more.
inline void expect_gradients_of(const Transformer& model, const std::function<double()>& loss,
                                double tolerance) {
  Backend& backend = *model.backend();
  constexpr double step = 1e-6;
  for (const Parameter& parameter : model.parameters()) {
    Tensor tensor = parameter.tensor;
    ASSERT_TRUE(tensor.gradient()) << parameter.name;
    const auto values = tensor.to_doubles(backend), gradient = tensor.gradient().to_doubles(backend);
    const auto direction = HostMatrix::normal(1, static_cast<int64_t>(values.size()), 17).values;
    const auto loss_at = [&](double distance) {
      auto moved = values;
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += distance * direction[i];
      tensor.copy_from(backend, moved);
      return loss();
    };
    const double difference = (loss_at(step) - loss_at(-step)) / (2 * step);
    tensor.copy_from(backend, values);
    double slope = 0;
    for (size_t i = 0; i < values.size(); ++i) slope += gradient[i] * direction[i];
    EXPECT_NEAR(slope, difference, tolerance * std::max(0.01, std::abs(difference))) << parameter.name;
  }
}

}  // namespace sixfold
