#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "data/batcher.h"
#include "train/config.h"

namespace sixfold {

/// Sums since the last line of progress.
struct ProgressSums {
  double loss = 0;  ///< of target tokens, label-smoothed
  int64_t target_tokens = 0;
  int64_t tokens = 0;        ///< source and target
  double gradient_norm = 0;  ///< of the last update
  double waited = 0;         ///< seconds that training waited for its text
};

/// Something that was changed in the course of a run: a key of its config, or "instruction_set".
struct TrainingChange {
  int64_t update = 0;  ///< it holds for those after this one
  std::string what, from, to;
};

/// Where a training run stands, besides its weights: all that makes the next update what it is.
struct TrainingState {
  int64_t update = 0;  ///< done so far
  Batcher::Position position;
  int64_t last_update = 0;  ///< where the run ends; 0: not known yet (a run by minutes that is still measuring)
  double seconds = 0;       ///< of training so far
  ProgressSums sums;
  std::optional<double> best;  ///< validation's best value so far
  int64_t best_update = 0;
  int64_t without_better = 0;   ///< validations since then
  int64_t log_bytes = 0;        ///< length of train.jsonl
  std::string instruction_set;  ///< the bits are those of this one
  Precision precision = Precision::fp32;
  std::string corpus;   ///< the hash of the encoded training text
  double loss_ema = 0;  ///< of a target token, the mean of late; 0: not known yet
  int64_t rollbacks = 0;
  int64_t part_tokens = 0;      ///< most of a part of a batch; 0: batches are not divided
  bool rate_measured = false;   ///< train.minutes have become updates
  std::string validation_text;  ///< the hash of the validation text; empty: there is none
  TrainOptions options;         ///< of the run; as it began, and with the changes since
  std::vector<TrainingChange> changes;
};

/// Throws an environment error for a figure that is not finite: it could not be read again.
std::string to_json_text(const TrainingState& state);
/// Throws an input error that names `where`.
TrainingState parse_training_state(const std::string& text, const std::string& where);

}  // namespace sixfold
