#pragma once
#include <functional>
#include <mutex>

#include "model/layers/architecture.h"
#include "ops/tensor.h"

namespace sixfold {

/// Sinusoidal positions (section 3.5): PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of
/// the same angle. `kind` must be a sinusoidal kind.
double sinusoidal_position(int64_t position, int64_t feature, int64_t d_model,
                           Positions kind = Positions::sinusoidal);

/// Whether positions are added to embeddings from a table of sines and cosines.
bool is_sinusoidal(Positions kind);

/// The value of a feature at a position.
using PositionFormula = std::function<double(int64_t position, int64_t feature)>;

/// The sinusoidal positions of an architecture, from its `position_offset` on.
PositionFormula sinusoids(const Architecture& a);

/// The angles of rotary positions of a head (Su et al. 2021) for `ops::rotate`: sines in features 2i, cosines
/// in features 2i + 1. Features beyond `rotary_features` have the angle 0.
PositionFormula rotary_angles(const Architecture& a);

/// A table of positions that is computed by a formula. It grows to the length of the longest sentence so far.
/// Safe to share between threads.
class PositionTable {
 public:
  PositionTable(std::shared_ptr<Backend> backend, DType dtype, int64_t width, PositionFormula formula);
  /// Returns a table [rows, width] with rows >= length.
  Tensor for_length(int64_t length) const;

 private:
  std::shared_ptr<Backend> backend_;
  DType dtype_;
  int64_t width_;
  PositionFormula formula_;
  mutable std::mutex mutex_;
  mutable Tensor table_;
};

}  // namespace sixfold
