#include "train/loss_guard.h"

namespace sixfold {

Verdict judge(const StepResult& step, const TrainOptions& options, const TrainingState& state) {
  if (!step.finite()) return Verdict::not_finite;
  const bool watched = options.train.on_spike != OnSpike::go_on && state.loss_ema > 0;
  if (watched && step.loss > options.train.spike_factor * state.loss_ema) return Verdict::spike;
  return Verdict::sound;
}

void track_loss(const StepResult& step, TrainingState& state) {
  constexpr double memory = 0.9;  // decay of the running mean; it covers about ten updates
  state.loss_ema = state.loss_ema > 0 ? memory * state.loss_ema + (1 - memory) * step.loss : step.loss;
}

}  // namespace sixfold
