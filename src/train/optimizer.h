#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "model/layers/parameters.h"
#include "model_folder/model_folder.h"
#include "train/config.h"
#include "train/weight_exchange.h"

namespace sixfold {

/// Whether an update changes a weight by about the learning rate, whatever its gradient is.
bool rate_is_step(const OptimizerOptions& options);

/// The optimizer of a model's weights (Adam, section 5.3, or another one). Weights that need no gradient are
/// left out. Each process has only the optimizer's state of the parts of the weights that it owns.
/// For one thread at a time.
class Optimizer {
 public:
  /// Whether each weight must be owned by one process, since the update of an element depends on the whole
  /// weight.
  static bool owns_whole_weights(const OptimizerOptions& options);

  /// `ema_decay`: decay of the moving average of the weights; 0: no average. `exchange` is that of the
  /// processes of a run, for these parameters; null: there is one process.
  Optimizer(std::shared_ptr<Backend> backend, const std::vector<Parameter>& parameters,
            const OptimizerOptions& options, double ema_decay,
            std::shared_ptr<WeightExchange> exchange = nullptr);

  const std::vector<Parameter>& parameters() const { return parameters_; }

  /// Sets all gradients to zero.
  void clear_gradients();
  /// `push_gradients` moves the gradients to a stack, so that those of other shards can be computed.
  /// `pop_and_add_gradients` removes the last ones from the stack and adds them to the current gradients. The
  /// memory of the stack is kept.
  void push_gradients();
  void pop_and_add_gradients();
  /// The same as `pop_and_add_gradients` for all that are on the stack, but weight by weight:
  /// `add_pushed_gradients` adds all gradients of one weight that are on the stack, the last ones first. After
  /// all weights, `clear_pushed_gradients` empties the stack.
  void add_pushed_gradients(size_t weight);
  void clear_pushed_gradients() { stacked_ = 0; }
  /// The gradients, by weight.
  std::vector<Tensor> gradients() const;

  /// The number of blocks of this process for which `square_gradients` computes a sum.
  int64_t gradient_blocks() const;
  /// Computes the sums of squares of the gradients of the parts that this process owns, block by block, into
  /// `sums`, which has `gradient_blocks()` elements. Does not wait for the kernels.
  void square_gradients(DeviceSpan<double> sums) const;
  /// Returns the sum of squares of the gradient of each weight, given the sums of all processes, one process
  /// after the other.
  std::vector<double> gradient_squares(std::span<const double> squares) const;
  /// Returns the root mean square of the elements of all weights. Waits for the kernels.
  double weight_size() const;

  /// Collective. Performs update number `step`, counted from 1, with the gradients multiplied by
  /// `gradient_scale`.
  void update(int64_t step, double learning_rate, double gradient_scale);
  /// Collective. Exchanges the weights with their moving average. A second call exchanges them back. Does
  /// nothing without an average.
  void swap_average();
  /// Sets the moving average to the current weights.
  void restart_average();
  /// The number of elements of all weights that are trained.
  int64_t trained_weights() const;
  bool is_root() const { return exchange_->processes().is_root(); }
  bool has_average() const { return ema_decay_ > 0; }

  /// The tensors of the state, those of a weight together: "moment1.<weight>", "moment2.<weight>" (or,
  /// factored, "rows.<weight>" and "columns.<weight>") and "average.<weight>", as far as the optimizer has
  /// them.
  std::vector<NamedShape> state() const;
  /// The maximum number of bytes of the state that a process has if there are so many processes.
  int64_t state_bytes(int processes) const;
  /// Collective: the root writes the state to a safetensors file.
  void save(const std::string& path) const;
  /// Reads the state from such a file: each process reads the parts that it owns. Throws an input error if the
  /// file is damaged or belongs to other weights.
  void load(const std::string& path);

 private:
  /// A kind of tensor of the state, in the order in which files have those of a weight.
  enum Kind { moment1, moment2, rows, columns, average };
  /// A part of a weight, with its state; the kinds that the optimizer does not have are empty.
  struct Part {
    WeightPart place;
    std::array<Tensor, 5> state;
  };
  /// A tensor of the whole state.
  struct Entry {
    size_t weight;
    Kind kind;
  };
  bool has(Kind kind, size_t weight) const;
  WeightPart extent(Kind kind, const WeightPart& part) const;
  void step(const Part& part, int64_t step, double learning_rate, double gradient_scale, double average_decay);
  std::vector<float> values(const Entry& entry) const;
  void set_values(const Entry& entry, std::span<const float> values);
  View weight(const WeightPart& part) const;
  View gradient(const WeightPart& part) const;
  void share_weights();

  std::shared_ptr<Backend> backend_;
  OptimizerOptions options_;
  double ema_decay_;
  std::shared_ptr<WeightExchange> exchange_;
  std::vector<Parameter> parameters_;
  std::vector<Tensor> gradients_;
  std::vector<std::vector<Tensor>> gradient_stack_;  ///< by weight; the first `stacked_` elements are in use
  std::vector<Part> parts_;
  std::vector<Entry> entries_;
  size_t stacked_ = 0;
};

}  // namespace sixfold
