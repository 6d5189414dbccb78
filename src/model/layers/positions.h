#pragma once
#include <mutex>

#include "model/layers/architecture.h"
#include "ops/tensor.h"

namespace sixfold {

/// Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same angle. `kind`
/// must be a sinusoidal kind. `base` replaces 10000.
double sinusoidal_position(int64_t position, int64_t feature, int64_t d_model,
                           Positions kind = Positions::sinusoidal, double base = 10000);

/// Whether positions are added to embeddings from a table of sines and cosines.
bool is_sinusoidal(Positions kind);

/// The table of position encodings. It grows to the longest sentence so far. Safe to share between threads.
class PositionTable {
 public:
  PositionTable(std::shared_ptr<Backend> backend, DType dtype, int64_t d_model,
                Positions kind = Positions::sinusoidal, double base = 10000);
  /// Returns a table [rows, d_model] with rows >= length; an empty tensor if positions are not sinusoidal.
  Tensor at_least(int64_t length) const;

 private:
  std::shared_ptr<Backend> backend_;
  DType dtype_;
  int64_t d_model_;
  Positions kind_;
  double base_;
  mutable std::mutex mutex_;
  mutable Tensor table_;
};

}  // namespace sixfold
