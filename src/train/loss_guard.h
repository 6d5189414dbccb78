#pragma once
#include <string>
#include <string_view>

#include "train/replica.h"
#include "train/state.h"

namespace sixfold {

/// The result of `check_step`.
enum class Verdict {
  sound,       ///< the update can be applied
  spike,       ///< the loss spiked, and train.on_spike is stop or rollback
  not_finite,  ///< the loss or a gradient is infinite or NaN
};

/// Checks the loss and the gradients of a step before its update is applied. The loss spikes if it is much
/// larger than its running mean.
Verdict check_step(const StepResult& step, const TrainOptions& options, const TrainingState& state);
/// Advice against divergence, for error messages: a sentence without its full stop.
inline constexpr std::string_view divergence_advice =
    "A lower schedule.learning_rate, a longer schedule.warmup or train.clip_norm usually helps";
/// Returns "the last checkpoint is ...", or that there is none.
std::string describe_newest(const std::string& checkpoint);

/// Throws an input error if a mean loss, of training or validation, shows that the run has diverged: if it is
/// at least 10 * (g + 1) * `terms`, where g is the loss of a model that gives all labels the same probability.
/// `update`: number of updates done. `checkpoint`: the newest one; empty if there is none. `terms`: sum of the
/// factors of the terms of the loss (`loss_terms`).
void require_not_diverged(double loss, const ModelConfig& config, int64_t update, const std::string& checkpoint,
                          double terms = 1);
/// The sum of the factors of the terms of the training loss: 1, and those of the teacher, guided alignment, and
/// R-Drop, which has each of them twice.
double loss_terms(const TrainOptions& options);
/// Adds the loss of a step whose update was applied to the running mean (`TrainingState::loss_ema`).
void track_loss(const StepResult& step, TrainingState& state);

}  // namespace sixfold
