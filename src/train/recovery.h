#pragma once
#include <functional>
#include <string>

#include "train/loss_guard.h"
#include "train/progress.h"
#include "train/run_models.h"

namespace sixfold {

/// Reads the batches of the current update again and passes them to `use`.
using RepeatUpdate = std::function<void(const std::function<void(Update&)>& use)>;

/// Handles a step whose verdict is not `sound`. The run returns to its newest scheduled checkpoint if
/// train.on_spike is rollback; otherwise it ends.
class Recovery {
 public:
  /// All arguments must outlive this object. `report`: the path of the file that describes the cause of values
  /// that are not finite.
  Recovery(const TrainOptions& options, const Task& task, Replica& replica, const RunModels& models,
           Progress& progress, std::string report);

  /// Restores weights and `state` from the newest checkpoint, but with the data position after the current
  /// batch. Returns false if the update is to be applied nevertheless, because there is no checkpoint yet.
  /// Throws an input error to end the run.
  bool roll_back(Verdict verdict, const StepResult& step, const RepeatUpdate& repeat, Context::Seeds seeds,
                 TrainingState& state);

 private:
  std::string find_cause(const StepResult& step, const RepeatUpdate& repeat, Context::Seeds seeds,
                         int64_t update);
  void load_newest(const std::string& why, TrainingState& state);

  const TrainOptions& options_;
  const Task& task_;
  Replica& replica_;
  const RunModels& models_;
  Progress& progress_;
  std::string report_;
};

}  // namespace sixfold
