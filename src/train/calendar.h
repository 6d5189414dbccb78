#pragma once
#include "train/run_length.h"
#include "train/state.h"

namespace sixfold {

/// Decides what happens after an update: whether a progress line is logged, the model is validated, a
/// checkpoint is saved, or the run ends.
class Calendar {
 public:
  /// `options` and `length` must outlive this object. `state`: the state in which the run starts or resumes.
  Calendar(const TrainOptions& options, const RunLength& length, const TrainingState& state);

  /// Whether the run is finished: its last update is done, or patience is exhausted.
  bool finished(const TrainingState& state) const;
  /// Whether validation.patience ends the run.
  bool is_out_of_patience(const TrainingState& state) const;
  /// Whether to log a progress line. The first lines come early, at updates 1, 2, 5, 10, 20, 50, ..., so that
  /// users soon see how a run starts.
  bool should_log(const TrainingState& state) const;
  /// Whether to validate after an update whose batch began at position `before`.
  bool should_validate(const TrainingState& state, Batcher::Position before) const;
  /// Whether to save a checkpoint.
  bool should_save(const TrainingState& state) const;

  /// Records that a checkpoint has been saved; checkpoint.every_minutes counts from it.
  void record_checkpoint(const TrainingState& state) { saved_at_ = state.seconds; }

 private:
  const TrainOptions& options_;
  const RunLength& length_;
  double saved_at_;  ///< in seconds of training
};

}  // namespace sixfold
