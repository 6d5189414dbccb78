#pragma once
#include <atomic>
#include <string>

#include "base/error.h"
#include "train/config.h"

namespace sixfold {

/// What the caller wants of a run besides its options.
struct TrainRequest {
  std::string run;  ///< the run's folder: config.json, train.jsonl, checkpoints/, best/ and in the end model/
  bool resume = false;  ///< go on from the newest checkpoint, if there is one, bit for bit as if never stopped
  bool other_processor = false;  ///< resume on another instruction set too: the bits are then others
  bool fit = false;  ///< where batches take more memory than there is, work through them in smaller parts
  const std::atomic<int>* stop = nullptr;  ///< when it turns nonzero: save after the update at hand and return
};

struct TrainOutcome {
  std::string model;       ///< the finished model's folder; empty where the run was stopped before its end
  std::string checkpoint;  ///< the newest checkpoint
  int64_t updates = 0;
};

/// The whole path from text to model: reads the corpora, makes the tokenizers, trains, validates, keeps
/// checkpoints. RUN/model is the mean of the last checkpoints where `train.average_last` asks for one, else the
/// best at validation where there is validation, else the last weights (their moving average where there is
/// one). Throws `Error`.
TrainOutcome train(const TrainOptions& options, const TrainRequest& request);

}  // namespace sixfold
