#pragma once
#include <algorithm>
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
  int64_t validation = 0;   ///< what it takes besides the activations' memory: packed weights, keys and values
  int64_t checkpoint = 0;   ///< a copy of the largest tensor

  int64_t total() const {
    return now + weights + optimizer + activations + kernels + std::max(validation, checkpoint);
  }
  /// "1.21 GB: 252 MB weights and gradients, ..."
  std::string describe() const;
};

/// The text that a run works on. Without `valid` there is no validation.
struct ForecastText {
  const TokenCorpus& train;
  const TokenCorpus* valid = nullptr;
};

/// Runs a training step without computing (`MetaBackend`) on the first batches and on that of the longest pair,
/// in parts of `part_tokens`, and so validation. Translations are taken to be as long as they may become.
MemoryForecast forecast_memory(const ModelConfig& config, const TrainOptions& options, const ForecastText& text,
                               int64_t part_tokens);

/// Looks whether the run fits into `available` bytes (0: nobody knows) in parts of `asked` tokens (0: batches
/// are whole). Returns the parts to train with: `asked`, or, with `fit`, smaller ones where these take too
/// much. Throws an input error where it does not fit, with the number that would.
int64_t fitting_parts(const ModelConfig& config, const TrainOptions& options, const ForecastText& text,
                      int64_t asked, int64_t available, bool fit);

}  // namespace sixfold
