#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "train/task.h"

namespace sixfold {

/// The memory that a training run will need, in bytes, and its number of operations.
struct MemoryForecast {
  int64_t now = 0;          ///< memory in use at the time of the forecast: the program and the task's data
  int64_t weights = 0;      ///< weights and their gradients
  int64_t optimizer = 0;    ///< moments, and the moving average of the weights
  int64_t activations = 0;  ///< activations of the largest batch
  int64_t kernels = 0;      ///< packed operands of matrix products
  int64_t batches = 0;      ///< batches that are prepared in advance, and a copy of the current one
  /// Memory of validation besides that of the activations: packed weights, the task's scores.
  int64_t validation = 0;
  int64_t checkpoint = 0;  ///< a copy of the largest tensor
  /// Multiplications and additions of the matrix products of an update (forward, backward, and of a teacher),
  /// for each source and target token.
  double operations_per_token = 0;

  int64_t total() const {
    return now + weights + optimizer + activations + kernels + batches + std::max(validation, checkpoint);
  }
  /// "1.21 GB: 252 MB weights and gradients, ..."
  std::string describe() const;
};

/// How the batches of a run are divided among processes.
struct BatchDivision {
  int shards = 1, processes = 1;
};

/// Forecasts the memory of a run, of each of its processes. Runs a training step and a validation without
/// computing (`MetaBackend`), on the first batches and on a batch with the longest sample, in parts of
/// `part_tokens` tokens (0: whole batches).
MemoryForecast forecast_memory(const Task& task, const TrainOptions& options, int64_t part_tokens,
                               BatchDivision division = {});

struct FittingParts {
  int64_t tokens = 0;  ///< of a part; 0: batches are whole
  MemoryForecast forecast;
};

/// Checks whether the run fits into `available` bytes (0: unknown) with parts of `requested_tokens` tokens (0:
/// whole batches). Returns the part size to train with: `requested_tokens`, or, if that needs too much memory
/// and `fit` is set, a smaller one. Throws an input error if the run does not fit; the message names the size
/// that would.
FittingParts fitting_parts(const Task& task, const TrainOptions& options, int64_t requested_tokens,
                           int64_t available, bool fit, BatchDivision division = {});

}  // namespace sixfold
