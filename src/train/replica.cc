#include "train/replica.h"

#include <cmath>

#include "train/start.h"

namespace sixfold {

void UpdateBatch::add(Batch part) {
  loss_weight += part.loss_weight();
  tokens += part.tokens();
  parts.push_back(std::move(part));
}

bool StepResult::finite() const { return std::isfinite(loss_sum) && std::isfinite(gradient_norm); }

Replica::Replica(std::shared_ptr<Backend> backend, const ModelConfig& config, const TrainOptions& options)
    : backend_(std::move(backend)),
      arena_(std::make_shared<Arena>(backend_)),
      model_(config, backend_, DType::f32, options.train.seed),
      optimizer_(backend_, trained_parameters(model_, options.start.freeze), options.optimizer,
                 options.train.ema_decay),
      label_smoothing_(options.train.label_smoothing),
      clip_norm_(options.train.clip_norm) {}

StepResult Replica::gradients(const UpdateBatch& batch, Context::Seeds seeds) {
  optimizer_.clear_gradients();
  StepResult step;
  for (const Batch& part : batch.parts) {
    Tape tape;
    Context context(backend_, arena_, tape, seeds);
    step.loss_sum +=
        model_.loss(part, {.label_smoothing = label_smoothing_, .scale = 1 / batch.loss_weight}, context);
    tape.backward();
  }
  step.loss = step.loss_sum / batch.loss_weight;
  step.gradient_norm = optimizer_.gradient_norm();
  return step;
}

void Replica::update(int64_t step, double learning_rate, double gradient_norm) {
  const bool clip = clip_norm_ > 0 && gradient_norm > clip_norm_;
  optimizer_.update(step, learning_rate, clip ? clip_norm_ / gradient_norm : 1.0);
}

}  // namespace sixfold
