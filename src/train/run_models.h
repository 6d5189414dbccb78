#pragma once
#include <string>
#include <vector>

#include "model_folder/model_folder.h"
#include "train/checkpoint.h"
#include "train/replica.h"
#include "train/run_folder.h"
#include "train/state.h"

namespace sixfold {

/// Writes the models of a run into its folder: checkpoints, the best at validation, and the result. All
/// functions except `newest` and `newest_scheduled` are collective; the root writes.
class RunModels {
 public:
  /// All arguments must outlive this object. `newest`: the checkpoint from which the run resumes; empty: it
  /// starts from the beginning.
  RunModels(const RunFolder& folder, const Checkpoints& checkpoints, const TrainOptions& options,
            const Task& task, Replica& replica, std::string newest);

  /// The newest checkpoint; empty if there is none yet.
  const std::string& newest() const { return newest_; }
  /// The newest one of `Checkpoints::scheduled`; empty if there is none yet.
  const std::string& newest_scheduled() const { return newest_scheduled_; }
  /// Whether `newest_scheduled` is the checkpoint of this update. It is never saved again: if it became one of
  /// an interruption, the next checkpoint would remove it.
  bool has_scheduled_checkpoint(const TrainingState& state) const {
    return newest_scheduled_ == checkpoints_.path(state.update);
  }

  void save_checkpoint(const TrainingState& state);
  /// Writes the best model: the weights, or their moving average if there is one.
  void save_best(const TrainingState& state);
  /// Whether the folder holds the best model so far.
  bool has_best(const TrainingState& state) const;
  /// Writes the result of the run: the mean of the last checkpoints, the best model at validation, or the
  /// current weights. Returns a description of the choice, or nothing for the current weights.
  std::string save_result(const TrainingState& state);

 private:
  void write(const std::string& folder, const TrainingState& state, AdapterStorage storage) const;
  void add_to_model(const std::string& folder, const TrainingState& state) const;

  const RunFolder& folder_;
  const Checkpoints& checkpoints_;
  const TrainOptions& options_;
  const Task& task_;
  Replica& replica_;
  std::string newest_, newest_scheduled_;
  std::vector<std::string> earlier_steps_;  ///< the model's history before this run
};

}  // namespace sixfold
