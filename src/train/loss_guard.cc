#include "train/loss_guard.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/head.h"

namespace sixfold {

Verdict check_step(const StepResult& step, const TrainOptions& options, const TrainingState& state) {
  if (!step.finite()) return Verdict::not_finite;
  const bool watched = options.train.on_spike != OnSpike::go_on && state.loss_ema > 0;
  if (watched && step.loss > options.train.spike_factor * state.loss_ema) return Verdict::spike;
  return Verdict::sound;
}

void require_not_diverged(double loss, const ModelConfig& config, int64_t update, const std::string& checkpoint,
                          double terms) {
  const double guessing = std::log(static_cast<double>(std::max<int64_t>(2, label_choices(config))));
  require(
      !(loss >= 10 * (guessing + 1) * terms),
      "update {}: the run has diverged: its loss is {:.4g}, and that of a model that guesses evenly is {:.3g}; "
      "{}. {}",
      update, loss, guessing, describe_newest(checkpoint), divergence_advice);
}

double loss_terms(const TrainOptions& o) {
  const double teacher = o.teacher.model.empty() ? 0 : o.teacher.weight;
  return (1 + teacher + o.train.alignment_weight) * (o.train.r_drop > 0 ? 2 : 1) + o.train.r_drop;
}

std::string describe_newest(const std::string& checkpoint) {
  return checkpoint.empty() ? "there is no checkpoint yet" : "the last checkpoint is " + checkpoint;
}

void track_loss(const StepResult& step, TrainingState& state) {
  constexpr double memory = 0.9;  // decay of the running mean; it covers about ten updates
  state.loss_ema = state.loss_ema > 0 ? memory * state.loss_ema + (1 - memory) * step.loss : step.loss;
}

}  // namespace sixfold
