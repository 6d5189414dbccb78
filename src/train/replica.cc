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

/// The sum of the numbers by the tree over shards.
double tree_sum(std::span<const double> numbers) {
  if (numbers.size() == 1) return numbers[0];
  const size_t half = numbers.size() / 2;
  return tree_sum(numbers.first(half)) + tree_sum(numbers.subspan(half));
}

}  // namespace

bool StepResult::finite() const { return std::isfinite(loss_sum) && std::isfinite(gradient_norm); }

Replica::Replica(std::shared_ptr<Backend> backend, const Task& task, const TrainOptions& options, DType dtype)
    : task_(task),
      backend_(std::move(backend)),
      arena_(std::make_shared<Arena>(backend_)),
      model_(task.model_config(), backend_, dtype, options.train.seed),
      optimizer_(backend_, trained_parameters(model_, options.start.freeze), options.optimizer,
                 options.train.ema_decay),
      label_smoothing_(options.train.label_smoothing),
      clip_norm_(options.train.clip_norm) {
  for (const Parameter& buffer : model_.buffers()) {
    const Tensor& now = buffer.tensor;
    staged_.push_back({now, Tensor(lasting_memory(backend_), now.rows(), now.cols(), now.dtype())});
  }
}

StepResult Replica::gradients(const UpdateBatch& batch, Context::Seeds seeds) {
  const auto shards = std::ssize(batch.shards);
  const int64_t blocks = optimizer_.gradient_blocks();
  if (!sums_ || sums_.cols() != shards + blocks)
    sums_ = Tensor(lasting_memory(backend_), 1, shards + blocks, DType::f64);
  stage_buffers();
  add_shards(batch, seeds, 0, batch.shards.size());
  optimizer_.square_gradients(sums_.view().slice_cols(shards, blocks).span<double>());
  const std::vector<double> sums = sums_.to_host<double>(*backend_);  // the only synchronisation in an update
  const std::span all(sums);
  const double loss = tree_sum(all.first(batch.shards.size()));
  return {.loss_sum = loss,
          .loss = loss / batch.loss_weight,
          .gradient_norm = optimizer_.gradient_norm(all.subspan(batch.shards.size()))};
}

void Replica::add_shards(const UpdateBatch& batch, Context::Seeds seeds, size_t begin, size_t end) {
  if (end - begin == 1) return run_shard(batch, seeds, begin);
  const size_t middle = (begin + end) / 2;
  add_shards(batch, seeds, begin, middle);
  optimizer_.set_gradients_aside();
  add_shards(batch, seeds, middle, end);
  optimizer_.add_gradients_aside();
}

void Replica::run_shard(const UpdateBatch& batch, Context::Seeds seeds, size_t shard) {
  optimizer_.clear_gradients();
  const View loss_sum = sums_.view().slice_cols(static_cast<int64_t>(shard), 1);
  const std::vector<Batch>& parts = batch.shards[shard];
  if (parts.empty()) backend_->run(kernel::Fill{loss_sum, 0});
  for (const Batch& part : parts) {
    Tape tape;
    Context context(backend_, arena_, tape, seeds);
    const Tensor loss = task_.loss(
        model_, part, {.label_smoothing = label_smoothing_, .scale = 1 / batch.loss_weight}, context);
    backend_->run(kernel::Sum{loss_sum, loss.view(), /*accumulate=*/&part != &parts.front()});
    tape.backward();
    for (const BufferUpdate& update : context.take_deferred()) stage(update);
  }
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
