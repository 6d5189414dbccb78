#pragma once
#include <optional>
#include <string>

#include "train/pace.h"
#include "train/replica.h"
#include "train/run_length.h"
#include "train/state.h"

namespace sixfold {

/// Decides with which update a run ends, and changes that while it trains if it is limited by minutes. Keeps
/// `TrainingState::plan` and `last_update`.
class RunPlan {
 public:
  /// All arguments must outlive this object.
  RunPlan(const TrainOptions& options, const RunLength& length, const Task& task, Replica& replica)
      : options_(options), length_(length), task_(task), replica_(replica) {}

  /// Collective. The plan with which a run starts or resumes. `stops_changed`: the limits are new. A run in
  /// minutes that was killed goes by the plan that its log, a file, has, as far as that goes, and ends as if it
  /// had not been killed.
  void begin(TrainingState& state, bool stops_changed, const std::string& log);
  /// After an update that took so many seconds. Returns the change of the plan, if there is one.
  std::optional<PlannedEnd> took_update(TrainingState& state, double seconds);
  /// After a return to an earlier update. The text that was read since is not read again, so that epochs end
  /// with an earlier update. Returns the change of the plan, if there is one.
  std::optional<PlannedEnd> went_back(TrainingState& state);
  void took_validation(double seconds);
  void took_checkpoint(double seconds);

 private:
  PlannedEnd change(TrainingState& state, int64_t last) const;
  RunTimes estimated_times(const TrainingState& state) const;

  const TrainOptions& options_;
  const RunLength& length_;
  const Task& task_;
  Replica& replica_;
  int64_t most_updates_ = 0;  ///< by train.updates and train.epochs; 0: no limit
  bool estimated_ = false;    ///< whether the end of the epochs is too far to be exact
  std::optional<Pace> pace_;  ///< of a run in minutes
};

}  // namespace sixfold
