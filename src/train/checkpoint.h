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

  /// Collective: the root writes a checkpoint. Removes older ones beyond `keep_last`, and those of
  /// interruptions. `add` writes the other files of the model into the folder. Throws an environment error if
  /// the disk fails.
  void save(const Transformer& model, const Optimizer& optimizer, const TrainingState& state,
            const std::function<void(const std::string& folder)>& add) const;
  /// Restores weights and optimizer as they were saved. Throws an input error if a file is missing or damaged.
  static void load(const std::string& checkpoint, Transformer& model, Optimizer& optimizer);
  /// Sets the weights of `model` to the mean of those of several checkpoints, or of their moving averages where
  /// these have some (train.ema_decay). Of adapters the mean of the factors is taken.
  static void load_mean(const std::vector<std::string>& checkpoints, Transformer& model);
  static TrainingState read_state(const std::string& checkpoint);
  /// Throws an input error if the weights or the optimizer's state are missing or damaged.
  static void verify(const std::string& checkpoint);
  static bool is_checkpoint_name(const std::string& name);
  /// The folders of all checkpoints, oldest first.
  std::vector<std::string> list() const;
  /// Those that an uninterrupted run would have too, oldest first.
  std::vector<std::string> due() const;
  /// The folder of the checkpoint of an update.
  std::string path(int64_t update) const;

 private:
  std::string folder_;
  int keep_last_;
};

}  // namespace sixfold
