#pragma once
#include <memory>
#include <vector>

#include "model/transformer.h"
#include "train/optimizer.h"

namespace sixfold {

/// What one update is computed from.
struct UpdateBatch {
  std::vector<Batch> parts;  ///< worked through one after the other; their gradients add up
  double loss_weight = 0;    ///< of all parts: what the loss is divided by
  int64_t tokens = 0;        ///< of all parts, source and target

  void add(Batch part);
};

/// What the gradients of an update show.
struct StepResult {
  double loss_sum = 0;  ///< label-smoothed, over all labels
  double loss = 0;      ///< of a label
  double gradient_norm = 0;

  bool finite() const;
};

/// A model that is trained, with its backend, buffers and optimizer: what each process of a run has one of. A
/// reduction over processes belongs between `gradients` and `update`. For one thread at a time.
class Replica {
 public:
  Replica(std::shared_ptr<Backend> backend, const ModelConfig& config, const TrainOptions& options);

  Transformer& model() { return model_; }
  const Transformer& model() const { return model_; }
  Optimizer& optimizer() { return optimizer_; }
  const Optimizer& optimizer() const { return optimizer_; }
  const std::shared_ptr<Backend>& backend() const { return backend_; }
  const std::shared_ptr<Arena>& arena() const { return arena_; }

  /// Leaves in the weights the gradients of the batch's loss, divided by its loss weight.
  StepResult gradients(const UpdateBatch& batch, Context::Seeds seeds);
  /// The `step`-th update, from 1, with these gradients, clipped where their norm is longer than the options
  /// allow.
  void update(int64_t step, double learning_rate, double gradient_norm);

 private:
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Arena> arena_;
  Transformer model_;
  Optimizer optimizer_;
  double label_smoothing_, clip_norm_;
};

}  // namespace sixfold
