#include "train/replica.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace sixfold {
namespace {

/// Returns the weights that are trained. Marks the others, which are frozen, as needing no gradient.
std::vector<Parameter> trained_parameters(Transformer& model, const std::vector<ModelPart>& frozen) {
  std::vector<Parameter> trained;
  for (Parameter& parameter : model.parameters()) {
    const bool fixed = std::find(frozen.begin(), frozen.end(), parameter.part) != frozen.end();
    parameter.tensor.set_requires_grad(!fixed);
    if (!fixed) trained.push_back(parameter);
  }
  require(!trained.empty(), "start.freeze: all weights are frozen; leave a part to train");
  return trained;
}

}  // namespace

void UpdateBatch::add(Batch part) {
  loss_weight += part.loss_weight();
  tokens += part.tokens();
  parts.push_back(std::move(part));
}

bool StepResult::finite() const { return std::isfinite(loss_sum) && std::isfinite(gradient_norm); }

Replica::Replica(std::shared_ptr<Backend> backend, const Task& task, const TrainOptions& options, DType dtype)
    : task_(task),
      backend_(std::move(backend)),
      arena_(std::make_shared<Arena>(backend_)),
      model_(task.model_config(), backend_, dtype, options.train.seed),
      optimizer_(backend_, trained_parameters(model_, options.start.freeze), options.optimizer,
                 options.train.ema_decay),
      sums_(lasting_memory(backend_), 1, 1 + optimizer_.gradient_blocks(), DType::f64),
      label_smoothing_(options.train.label_smoothing),
      clip_norm_(options.train.clip_norm) {
  for (const Parameter& buffer : model_.buffers()) {
    const Tensor& now = buffer.tensor;
    staged_.push_back({now, Tensor(lasting_memory(backend_), now.rows(), now.cols(), now.dtype())});
  }
}

StepResult Replica::gradients(const UpdateBatch& batch, Context::Seeds seeds) {
  optimizer_.clear_gradients();
  stage_buffers();
  const View loss_sum = sums_.view().slice_cols(0, 1);
  for (const Batch& part : batch.parts) {
    Tape tape;
    Context context(backend_, arena_, tape, seeds);
    const Tensor loss = task_.loss(
        model_, part, {.label_smoothing = label_smoothing_, .scale = 1 / batch.loss_weight}, context);
    backend_->run(kernel::Sum{loss_sum, loss.view(), /*accumulate=*/&part != &batch.parts.front()});
    tape.backward();
    for (const BufferUpdate& update : context.take_deferred()) stage(update);
  }
  // With several processes, gradients and losses would be summed here, and `batch.loss_weight` would be that of
  // all processes.
  optimizer_.square_gradients(sums_.view().slice_cols(1, optimizer_.gradient_blocks()).span<double>());
  const std::vector<double> sums = sums_.to_host<double>(*backend_);  // the only synchronisation in an update
  return {.loss_sum = sums.front(),
          .loss = sums.front() / batch.loss_weight,
          .gradient_norm = optimizer_.gradient_norm(std::span(sums).subspan(1))};
}

void Replica::update(int64_t step, double learning_rate, double gradient_norm) {
  const bool clip = clip_norm_ > 0 && gradient_norm > clip_norm_;
  optimizer_.update(step, learning_rate, clip ? clip_norm_ / gradient_norm : 1.0);
  for (const Staged& staged : staged_)
    backend_->run(kernel::Scale{staged.buffer.view(), staged.next.view(), 1});
}

/// Begins with the buffers as they are. What was staged and not applied is forgotten.
void Replica::stage_buffers() {
  for (const Staged& staged : staged_)
    backend_->run(kernel::Scale{staged.next.view(), staged.buffer.view(), 1});
}

void Replica::stage(const BufferUpdate& update) {
  const auto staged =
      std::ranges::find_if(staged_, [&](const Staged& s) { return s.buffer.same_as(update.buffer); });
  require(staged != staged_.end(), "a buffer that is to be updated is not one of the model");
  const View next = staged->next.view();
  const Tensor share(arena_, next.rows, next.cols, next.dtype);
  backend_->run(kernel::Scale{share.view(), update.statistic.view(), update.momentum * update.factor});
  backend_->run(kernel::Scale{next, next, 1 - update.momentum});
  backend_->run(kernel::Add{next, next, share.view()});
}

}  // namespace sixfold
