#include "model/layers/positions.h"

#include <algorithm>
#include <cmath>

namespace sixfold {

double sinusoidal_position(int64_t position, int64_t feature, int64_t d_model, Positions kind, double base) {
  const bool by_turns = kind == Positions::sinusoidal;
  const int64_t sines = by_turns ? 0 : (d_model + 1) / 2;
  const bool sine = by_turns ? feature % 2 == 0 : feature < sines;
  const int64_t wave = by_turns ? feature / 2 : feature - (sine ? 0 : sines);
  const int64_t waves = d_model / 2;
  const double exponent = kind == Positions::sinusoidal_marian
                              ? static_cast<double>(wave) / std::max(1.0, static_cast<double>(waves - 1))
                              : static_cast<double>(2 * wave) / static_cast<double>(d_model);
  const double angle = static_cast<double>(position) / std::pow(base, exponent);
  return sine ? std::sin(angle) : std::cos(angle);
}

bool is_sinusoidal(Positions kind) { return effect_of(kind) == PositionEffect::sinusoids; }

PositionTable::PositionTable(std::shared_ptr<Backend> backend, DType dtype, int64_t d_model, Positions kind,
                             double base)
    : backend_(std::move(backend)), dtype_(dtype), d_model_(d_model), kind_(kind), base_(base) {}

Tensor PositionTable::at_least(int64_t length) const {
  if (!is_sinusoidal(kind_)) return {};
  std::lock_guard lock(mutex_);
  if (table_ && table_.rows() >= length) return table_;
  const int64_t rows = std::max<int64_t>(256, length + length / 2);
  std::vector<double> values(static_cast<size_t>(rows * d_model_));
  for (int64_t p = 0; p < rows; ++p)
    for (int64_t i = 0; i < d_model_; ++i)
      values[static_cast<size_t>(p * d_model_ + i)] = sinusoidal_position(p, i, d_model_, kind_, base_);
  Tensor table(lasting_memory(backend_), rows, d_model_, dtype_);
  table.copy_from(*backend_, values);
  return table_ = table;
}

}  // namespace sixfold
