#pragma once
#include "train/config.h"
#include "train/state.h"

namespace sixfold {

/// The learning rate as a function of the update.
class Schedule {
 public:
  static constexpr int64_t paper_warmup = 4000;  ///< section 5.3

  /// `last_update`: the update at which decays reach their end. If it is 0, the last update is not known yet:
  /// the rate stays at its peak, and the default warm-up is the paper's.
  Schedule(const ScheduleOptions& options, int d_model, int64_t last_update);
  /// The schedule of a run for its next update. Where its plan has changed, the rate does not jump: the rest of
  /// the warm-up and of the decay is spread over the updates that are left.
  Schedule(const ScheduleOptions& options, int d_model, const TrainingState& state);
  /// Returns the rate of update `step`, counted from 1.
  double rate(int64_t step) const;
  /// To be called after a validation. With kind `plateau`, lowers the rates of later updates
  /// (`TrainingState::plateau_scale`) if validation has stalled, and returns whether it did. Validations during
  /// the warm-up do not count.
  bool record_validation(bool better, TrainingState& state) const;

 private:
  int64_t warmup_for(int64_t last_update) const;
  double decay_done(double step) const;
  double decayed(double rest) const;
  void begin_decay(double at);
  void change(const PlannedEnd& end);

  ScheduleOptions options_;
  int d_model_;
  double peak_ = 0;
  double plateau_scale_ = 1;
  double warmup_ = 1;       ///< number of updates of a warm-up with the current slope
  double warmup_from_ = 0;  ///< the update at which a warm-up with this slope would have begun
  double decay_from_ = 1;  ///< the update at which the decay began, or at which the last change of the plan was
  double done_before_ = 0;  ///< the share of the decay that was done at this update
  int64_t last_update_;
};

}  // namespace sixfold
