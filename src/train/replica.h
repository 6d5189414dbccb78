#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "data/batch_stream.h"
#include "train/optimizer.h"
#include "train/task.h"
#include "train/teacher.h"
#include "train/weight_exchange.h"

namespace sixfold {

/// The loss and the gradient norm of a step.
struct StepResult {
  double loss_sum = 0;  ///< label-smoothed, sum over all labels
  double loss = 0;      ///< mean over the labels
  double gradient_norm = 0;
  std::vector<double> gradient_squares = {};  ///< sums of squares, by weight (`Optimizer::parameters`)

  bool finite() const;
};

/// The adapters that the options of a run ask for.
AdapterConfig adapters_of(const StartOptions& start);
ModelConfig with_adapters(ModelConfig config, AdapterConfig adapters);

/// Returns the weights of a model that are trained: those of parts that are not frozen. With adapters, these
/// are the adapters, the head, which may be new, and the weights of `AdapterConfig::trained`. Marks all other
/// weights as needing no gradient.
std::vector<Parameter> trained_parameters(Transformer& model, const StartOptions& start);

/// A model in training, with its backend, buffers and optimizer. Each process of a run has one; their weights
/// are the same. For one thread at a time.
class Replica {
 public:
  /// `task` and `processes` must outlive this object. Weights are initialized from the run's seed. The batch of
  /// an update has `shards` shards. `dtype` is that of the weights, their gradients and the optimizer's state;
  /// `backend` must compute in it. The model gets `adapters`.
  Replica(std::shared_ptr<Backend> backend, const Task& task, const TrainOptions& options, Processes& processes,
          int shards, DType dtype, AdapterConfig adapters);
  /// The only process of a run, with batches of one shard.
  Replica(std::shared_ptr<Backend> backend, const Task& task, const TrainOptions& options,
          DType dtype = DType::f32);

  Transformer& model() { return model_; }
  const Transformer& model() const { return model_; }
  Optimizer& optimizer() { return optimizer_; }
  const Optimizer& optimizer() const { return optimizer_; }
  Processes& processes() const { return exchange_->processes(); }
  const TeacherModel* teacher() const { return teacher_ ? &*teacher_ : nullptr; }
  const std::shared_ptr<Backend>& backend() const { return backend_; }
  const std::shared_ptr<Arena>& arena() const { return arena_; }

  /// The shards of a batch that this process computes.
  const ShardInterval& own_shards() const {
    return exchange_->tree().of_process(exchange_->processes().rank());
  }

  /// Collective. Computes the gradients of the loss of the update's batches, divided by their loss weight. Each
  /// process stores those of the parts of weights that it owns.
  /// Losses and gradients of shards are added by a binary tree: those of [a, b) are the sum of those of [a, m)
  /// and of [m, b), with m = (a + b) / 2. So a process that has the shards of a node of the tree can add them
  /// before others see them. For n shards there are at most 1 + ceil(log2(n)) gradients at a time. Changes
  /// neither weights nor buffers. Waits for the kernels.
  StepResult gradients(Update& update, Context::Seeds seeds);
  StepResult gradients(const UpdateBatch& batch, Context::Seeds seeds) {
    Update only(batch);
    return gradients(only, seeds);
  }
  /// Collective. Applies update number `step`, counted from 1, with these gradients. They are clipped if
  /// `gradient_norm` exceeds the limit in the options. The buffers, which are running averages, are updated
  /// with the statistics of each part of the batch, in the order of the parts and, within a part, of the
  /// layers.
  void update(int64_t step, double learning_rate, double gradient_norm);

 private:
  /// A buffer of the model, and the values that it gets in the next update.
  struct Staged {
    Tensor buffer, next;
  };
  /// Computes the gradients of the shards [begin, end) of this process.
  void add_shards(Update& update, Context::Seeds seeds, int64_t begin, int64_t end);
  void run_shard(Update& update, Context::Seeds seeds, int64_t shard);
  void run_part(const Batch& part, double loss_weight, Context::Seeds seeds, View loss_sum, bool last);
  void backward_with_exchange(Tape& tape);
  void complete_to(size_t weight);
  void record(const BufferUpdate& update);
  void stage_buffers(std::span<const double> statistics);
  StepResult combine(std::span<const double> own_sums, int64_t shards, double loss_weight);

  const Task& task_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Arena> arena_;
  Transformer model_;
  std::optional<TeacherModel> teacher_;
  std::vector<Parameter> trained_;
  std::shared_ptr<WeightExchange> exchange_;
  Optimizer optimizer_;
  Tensor
      sums_;  ///< [1, own shards + own blocks of gradients] f64: of the losses, and of the gradients' squares
  size_t complete_ = 0;             ///< the gradients of this weight and later ones are complete
  std::vector<int64_t> holders_;    ///< number of holders of each trained weight while no tape holds it
  std::vector<double> statistics_;  ///< of the parts of the batch, for buffers
  std::vector<Staged> staged_;
  ops::LossOptions loss_;
  double clip_norm_;
};

}  // namespace sixfold
