#pragma once
#include <string>
#include <string_view>

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
/// What usually helps against divergence, as a sentence without its full stop.
inline constexpr std::string_view against_divergence =
    "A lower schedule.learning_rate, a longer schedule.warmup or train.clip_norm usually helps";
/// "the last checkpoint is ..."
std::string describe_newest(const std::string& checkpoint);

/// Throws an input error if a mean loss, of training or validation, shows that the run has diverged: if it is
/// more than ten times that of a model that guesses evenly, and one for each label. `update`: the updates done;
/// `checkpoint`: the newest, empty if there is none.
/// `terms`: how many times the loss of guessing a loss may have, which also follows a teacher.
void require_learning(double loss, const ModelConfig& config, int64_t update, const std::string& checkpoint,
                      double terms = 1);
/// Adds the loss of a step whose update was applied to the running mean (`TrainingState::loss_ema`).
void track_loss(const StepResult& step, TrainingState& state);

}  // namespace sixfold
