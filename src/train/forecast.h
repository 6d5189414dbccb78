#pragma once
#include <cstdint>
#include <string>

#include "data/token_corpus.h"
#include "train/config.h"

namespace sixfold {

/// The memory that a training run will take, in bytes.
struct MemoryForecast {
  int64_t now = 0;          ///< taken already: the program, its text, its tokenizers
  int64_t weights = 0;      ///< with their gradients
  int64_t optimizer = 0;    ///< moments and the moving average
  int64_t activations = 0;  ///< of the largest batch
  int64_t kernels = 0;      ///< where products lay out their sides

  int64_t total() const { return now + weights + optimizer + activations + kernels; }
  /// "1.21 GB: 252 MB weights and gradients, ..."
  std::string describe() const;
};

/// Runs a training step without computing (`DryBackend`) on the first batches and on that of the longest pair,
/// in parts of `micro_batch_tokens`.
MemoryForecast forecast_memory(const ModelConfig& config, const TrainOptions& options,
                               const TokenCorpus& corpus, int64_t micro_batch_tokens);

/// Looks whether the run fits into `available` bytes. Returns the `micro_batch_tokens` to train with: those of
/// the options, or, with `fit`, fewer where these take too much. Throws an input error where it does not fit,
/// with the number that would.
int64_t fitting_micro_batch(const ModelConfig& config, const TrainOptions& options, const TokenCorpus& corpus,
                            int64_t available, bool fit);

}  // namespace sixfold
