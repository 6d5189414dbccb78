#pragma once
#include "train/run_length.h"
#include "train/state.h"

namespace sixfold {

/// Decides what is due after an update: a progress line, a validation, a checkpoint, or the end of the run.
class Calendar {
 public:
  /// `options` and `length` must outlive this object. `state`: the state in which the run starts or resumes.
  Calendar(const TrainOptions& options, const RunLength& length, const TrainingState& state);

  /// Whether the run is finished: its last update is done, or patience is exhausted.
  bool finished(const TrainingState& state) const;
  /// Whether a progress line is due. The first ones come early, at updates 1, 2, 5, 10, 20, 50, ..., so that a
  /// run shows at once what it does.
  bool line(const TrainingState& state) const;
  /// Whether a validation is due after an update whose batch began at position `before`.
  bool validation(const TrainingState& state, Batcher::Position before) const;
  /// Whether a checkpoint is due.
  bool checkpoint(const TrainingState& state) const;

  /// A checkpoint has been saved, which the next one by minutes follows.
  void note_checkpoint(const TrainingState& state) { saved_at_ = state.seconds; }

 private:
  const TrainOptions& options_;
  const RunLength& length_;
  double saved_at_;  ///< in seconds of training
};

}  // namespace sixfold
