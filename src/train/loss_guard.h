#pragma once
#include "train/replica.h"
#include "train/state.h"

namespace sixfold {

/// The result of checking a step.
enum class Verdict {
  sound,       ///< the update can be applied
  spike,       ///< the loss spiked, and train.on_spike is stop or rollback
  not_finite,  ///< the loss or a gradient is infinite or NaN
};

/// Checks a step before its update is applied, against the running mean of the loss.
Verdict judge(const StepResult& step, const TrainOptions& options, const TrainingState& state);
/// Adds the loss of a step whose update was applied to the running mean (`TrainingState::loss_ema`).
void track_loss(const StepResult& step, TrainingState& state);

}  // namespace sixfold
