#pragma once
#include <span>
#include <vector>

#include "layers/parameters.h"
#include "train/config.h"

namespace sixfold {

/// The Adam optimizer (section 5.3) of a model's weights, with its state. Weights that need no gradient are
/// left out. For one thread at a time.
class Optimizer {
 public:
  /// `ema_decay`: decay of the moving average of the weights; 0: no average.
  Optimizer(std::shared_ptr<Backend> backend, const std::vector<Parameter>& parameters,
            const OptimizerOptions& options, double ema_decay);

  /// Sets all gradients to zero.
  void clear_gradients();
  /// Sets the gradients aside, for those of other shards to be computed, and `add_gradients_aside` then adds:
  /// the gradients become the sum of those that were set aside last and of their own. Calls come in pairs,
  /// which may be nested; the memory is kept for the next pair.
  void set_gradients_aside();
  void add_gradients_aside();
  /// The number of blocks for which `square_gradients` computes a sum.
  int64_t gradient_blocks() const;
  /// Computes the sums of squares of all gradients, block by block, into `sums`, which has `gradient_blocks()`
  /// elements. Does not wait for the kernels.
  void square_gradients(DeviceSpan<double> sums) const;
  /// Returns the norm of the whole gradient, given these sums.
  double gradient_norm(std::span<const double> squares) const;
  /// Performs update number `step`, counted from 1, with the gradients multiplied by `gradient_scale`.
  void update(int64_t step, double learning_rate, double gradient_scale);
  /// Exchanges the weights with their moving average. A second call exchanges them back. Does nothing without
  /// an average.
  void swap_average();
  /// Sets the moving average to the current weights.
  void restart_average();
  /// The number of elements of all weights that are trained.
  int64_t trained_weights() const;
  bool has_average() const { return ema_decay_ > 0; }

  /// The state of the optimizer, to be saved or loaded: tensors named "moment1.<weight>", "moment2.<weight>"
  /// and "average.<weight>".
  std::vector<Parameter> state() const;

 private:
  struct Slot {
    Parameter weight;
    Tensor gradient, moment1, moment2, average;
    std::vector<Tensor> aside;  ///< the first `aside_` hold gradients
  };
  std::shared_ptr<Backend> backend_;
  OptimizerOptions options_;
  double ema_decay_;
  std::vector<Slot> slots_;
  size_t aside_ = 0;
};

}  // namespace sixfold
