#include "model/layers/positions.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace sixfold {

double sinusoidal_position(int64_t position, int64_t feature, int64_t d_model, Positions kind) {
  const bool interleaved = kind == Positions::sinusoidal;
  const int64_t sines = interleaved ? 0 : (d_model + 1) / 2;
  const bool sine = interleaved ? feature % 2 == 0 : feature < sines;
  const int64_t wave = interleaved ? feature / 2 : feature - (sine ? 0 : sines);
  const int64_t waves = d_model / 2;
  const double exponent = kind == Positions::sinusoidal_marian
                              ? static_cast<double>(wave) / std::max(1.0, static_cast<double>(waves - 1))
                              : static_cast<double>(2 * wave) / static_cast<double>(d_model);
  const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
  return sine ? std::sin(angle) : std::cos(angle);
}

bool is_sinusoidal(Positions kind) { return effect_of(kind) == PositionEffect::sinusoids; }

PositionFormula sinusoids(const Architecture& a) {
  return [d_model = a.d_model, kind = a.positions, offset = a.position_offset](int64_t p, int64_t i) {
    return sinusoidal_position(p + offset, i, d_model, kind);
  };
}

namespace {

/// How much of the scaling applies to a wavelength: 0 (nothing) for short ones, 1 for long ones. `wave` is the
/// number of positions in which the pair of features is rotated by the angle 1.
double scaling_share(const Architecture& a, double wave, int64_t pair) {
  const RotaryScaling& s = a.rotary_scaling;
  const double context = s.original_context;
  if (s.kind == RotaryScalingKind::linear) return 1;
  if (s.kind == RotaryScalingKind::llama3) {
    const double turns = context / (wave * 2 * std::numbers::pi);
    return std::clamp((s.high - turns) / (s.high - s.low), 0.0, 1.0);
  }
  // For yarn it is linear in the number of the pair, between the pairs that turn `high` and `low` times in the
  // original context.
  const int width = a.rotated_features();
  const auto pair_that_turns = [&](double turns) {
    return width * std::log(context / (turns * 2 * std::numbers::pi)) / (2 * std::log(double{a.rotary_base}));
  };
  double first = pair_that_turns(s.high), last = pair_that_turns(s.low);
  if (s.whole_features) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0), last = std::min(last, width - 1.0);
  if (first == last) last += 0.001;
  return std::clamp((static_cast<double>(pair) - first) / (last - first), 0.0, 1.0);
}

/// The number of positions in which a pair of features is rotated by the angle 1.
double rotary_wave(const Architecture& a, int64_t pair) {
  const double wave = std::pow(double{a.rotary_base}, static_cast<double>(2 * pair) / a.rotated_features());
  if (a.rotary_scaling.kind == RotaryScalingKind::none) return wave;
  if (a.rotary_scaling.kind == RotaryScalingKind::factors)
    return wave * a.rotary_scaling.factors[static_cast<size_t>(pair)];
  const double share = scaling_share(a, wave, pair);
  return wave / (1 - share + share / a.rotary_scaling.factor);
}

}  // namespace

PositionFormula rotary_angles(const Architecture& a) {
  std::vector<double> waves;
  for (int64_t pair = 0; pair < a.rotated_features() / 2; ++pair) waves.push_back(rotary_wave(a, pair));
  const RotaryScalingKind kind = a.rotary_scaling.kind;
  const bool scales_features = kind == RotaryScalingKind::yarn || kind == RotaryScalingKind::factors;
  const double magnitude = scales_features ? a.rotary_scaling.magnitude : 1;
  return [waves, magnitude](int64_t position, int64_t feature) {
    const auto pair = static_cast<size_t>(feature / 2);
    const bool sine = feature % 2 == 0;
    if (pair >= waves.size()) return sine ? 0.0 : 1.0;
    const double angle = static_cast<double>(position) / waves[pair];
    return magnitude * (sine ? std::sin(angle) : std::cos(angle));
  };
}

PositionTable::PositionTable(std::shared_ptr<Backend> backend, DType dtype, int64_t width,
                             PositionFormula formula)
    : backend_(std::move(backend)), dtype_(dtype), width_(width), formula_(std::move(formula)) {}

Tensor PositionTable::for_length(int64_t length) const {
  std::lock_guard lock(mutex_);
  if (table_ && table_.rows() >= length) return table_;
  const int64_t rows = std::max<int64_t>(64, length + length / 2);
  std::vector<double> values(static_cast<size_t>(rows * width_));
  for (int64_t p = 0; p < rows; ++p)
    for (int64_t i = 0; i < width_; ++i) values[static_cast<size_t>(p * width_ + i)] = formula_(p, i);
  Tensor table(lasting_memory(backend_), rows, width_, dtype_);
  table.copy_from(*backend_, values);
  return table_ = table;
}

}  // namespace sixfold
