#pragma once
#include <functional>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "train/optimizer.h"
#include "train/state.h"

namespace sixfold {

/// The checkpoints of a run: RUN/checkpoints/update-000001000. Each is a model folder that also holds the state
/// of the optimizer and of the run.
class Checkpoints {
 public:
  Checkpoints(const std::string& run, int keep_last) : folder_(run + "/checkpoints"), keep_last_(keep_last) {}

  /// Collective: the root writes a checkpoint. Removes the oldest ones if there are more than `keep_last`, and
  /// those of interruptions. `add` writes the other files of the model into the folder. Throws an environment
  /// error if the disk fails.
  void save(const Transformer& model, const Optimizer& optimizer, const TrainingState& state,
            const std::function<void(const std::string& folder)>& add) const;
  /// Restores weights and optimizer as they were saved. Throws an input error if a file is missing or damaged.
  static void load(const std::string& checkpoint, Transformer& model, Optimizer& optimizer);
  /// Sets the weights of `model` to the mean of those of several checkpoints, or of their moving averages if
  /// the checkpoints have them (train.ema_decay). For adapters, the factors are averaged, not their products.
  static void load_mean(const std::vector<std::string>& checkpoints, Transformer& model);
  static TrainingState read_state(const std::string& checkpoint);
  /// Throws an input error if the weights or the optimizer's state are missing or damaged.
  static void verify(const std::string& checkpoint);
  static bool is_checkpoint_name(const std::string& name);
  /// The folders of all checkpoints, oldest first.
  std::vector<std::string> list() const;
  /// The same without checkpoints of interruptions (`TrainingState::interrupted`): those that an uninterrupted
  /// run would have as well.
  std::vector<std::string> scheduled() const;
  /// The folder of the checkpoint of an update.
  std::string path(int64_t update) const;

 private:
  std::string folder_;
  int keep_last_;
};

}  // namespace sixfold
