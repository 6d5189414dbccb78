#include "model/position_encodings.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/layers/positions.h"

namespace sixfold {

bool adds_position_vectors(Positions kind) {
  const PositionEffect effect = effect_of(kind);
  return effect == PositionEffect::sinusoids || effect == PositionEffect::learned_table;
}

std::vector<float> sinusoidal_encodings(const Architecture& architecture, int64_t positions) {
  const int64_t d_model = architecture.d_model;
  const PositionFormula value = sinusoids(architecture);
  std::vector<float> table;
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t f = 0; f < d_model; ++f) table.push_back(static_cast<float>(value(p, f)));
  return table;
}

std::vector<float> position_encodings(const Transformer& model, int64_t positions) {
  const ModelConfig& config = model.config();
  require(adds_position_vectors(config.positions),
          "positions '{}' are not vectors that are added to embeddings, so that there is no table of them",
          name_of_enum(config.positions));
  if (is_sinusoidal(config.positions)) return sinusoidal_encodings(config, positions);
  const auto parameters = model.parameters();
  const auto learned = std::ranges::find_if(
      parameters, [](const Parameter& p) { return p.name.ends_with("embed_positions.weight"); });
  require(learned != parameters.end(), "the model has no table of learned positions");
  auto table = learned->tensor.to_floats(*model.backend());
  table.resize(std::min(table.size(), static_cast<size_t>(positions * config.d_model)));
  return table;
}

double cosine_similarity(std::span<const float> a, std::span<const float> b) {
  const auto dot = [](std::span<const float> x, std::span<const float> y) {
    double sum = 0;
    for (size_t f = 0; f < x.size(); ++f) sum += static_cast<double>(x[f]) * static_cast<double>(y[f]);
    return sum;
  };
  const double lengths = std::sqrt(dot(a, a) * dot(b, b));
  return lengths > 0 ? dot(a, b) / lengths : 0;
}

}  // namespace sixfold
