#pragma once
#include <vector>

#include "model/parameters.h"
#include "train/config.h"

namespace sixfold {

/// Adam (section 5.3) over a model's weights, with what it remembers of them.
class Optimizer {
 public:
  /// `ema_decay` 0: no moving average of the weights.
  Optimizer(std::shared_ptr<Backend> backend, const std::vector<Parameter>& parameters,
            const OptimizerOptions& options, double ema_decay);

  /// Gradients back to zero.
  void clear_gradients();
  /// Length of the whole gradient.
  double gradient_norm() const;
  /// One update, the `step`-th from 1, with gradients times `gradient_scale`.
  void update(int64_t step, double learning_rate, double gradient_scale);
  /// Trades the weights for their moving average, and back when called again. Nothing where there is none.
  void swap_average();
  /// The moving average becomes what the weights are now.
  void restart_average();
  int64_t trained_weights() const;
  bool has_average() const { return ema_decay_ > 0; }

  /// Moments and average, named "moment1.<weight>", "moment2.<weight>", "average.<weight>".
  std::vector<Parameter> state() const;

 private:
  struct Slot {
    Parameter weight;
    Tensor gradient, moment1, moment2, average;
  };
  std::shared_ptr<Backend> backend_;
  OptimizerOptions options_;
  double ema_decay_;
  std::vector<Slot> slots_;
};

}  // namespace sixfold
