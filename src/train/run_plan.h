#pragma once
#include <optional>
#include <string>

#include "train/pace.h"
#include "train/replica.h"
#include "train/run_length.h"
#include "train/state.h"

namespace sixfold {

/// Decides with which update a run ends, and changes that while it trains if it is limited by minutes. Updates
/// `TrainingState::plan` and `last_update`.
class RunPlan {
 public:
  /// All arguments must outlive this object.
  RunPlan(const TrainOptions& options, const RunLength& length, const Task& task, Replica& replica)
      : options_(options), length_(length), task_(task), replica_(replica) {}

  /// Collective. Makes the plan with which a run starts or resumes. `limits_changed`: the limits differ from
  /// those of the state's plan, or there is no plan yet. `log`: path of the run's log. A run that is limited by
  /// minutes and was killed first follows the plans in its log, so that it ends as if it had not been killed.
  void begin(TrainingState& state, bool limits_changed, const std::string& log);
  /// To be called after an update, which took so many seconds. Returns the change of the plan, if there is one.
  std::optional<PlannedEnd> record_update(TrainingState& state, double seconds);
  /// To be called after a rollback. The text that was read since the earlier update is not read again, so that
  /// the epochs end after fewer updates. Returns the change of the plan, if there is one.
  std::optional<PlannedEnd> record_rollback(TrainingState& state);
  void record_validation(double seconds);
  void record_checkpoint(double seconds);

 private:
  PlannedEnd change(TrainingState& state, int64_t last) const;
  RunTimes estimated_times(const TrainingState& state) const;

  const TrainOptions& options_;
  const RunLength& length_;
  const Task& task_;
  Replica& replica_;
  int64_t max_updates_ = 0;  ///< limit by train.updates and train.epochs; 0: no limit
  bool estimated_ = false;   ///< whether `max_updates_` is an estimate, since the last epoch ends too far ahead
  std::optional<Pace> pace_;  ///< only of a run that is limited by minutes
};

}  // namespace sixfold
