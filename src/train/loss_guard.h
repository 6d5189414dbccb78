#pragma once
#include "train/replica.h"
#include "train/state.h"

namespace sixfold {

/// What is to be done with a step.
enum class Verdict {
  sound,       ///< the update is made
  spike,       ///< the loss leapt, and the options say that this stops the run or takes it back
  not_finite,  ///< the loss or a gradient is not a number
};

/// Judges a step, before its update is made, by the mean loss of late.
Verdict judge(const StepResult& step, const TrainOptions& options, const TrainingState& state);
/// Takes the loss of a step whose update is made into that mean (`TrainingState::loss_ema`).
void track_loss(const StepResult& step, TrainingState& state);

}  // namespace sixfold
