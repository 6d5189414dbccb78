#pragma once
#include "train/config.h"

namespace sixfold {

/// The learning rate as a function of the update.
class Schedule {
 public:
  static constexpr int64_t paper_warmup = 4000;  ///< section 5.3

  /// `last_update`: the update at which linear and cosine reach 0. If it is 0, the last update is not known
  /// yet: the rate stays at its peak, and the default warm-up is the paper's.
  Schedule(const ScheduleOptions& options, int d_model, int64_t last_update);
  /// Returns the rate of update `step`, counted from 1.
  double rate(int64_t step) const;

 private:
  ScheduleKind kind_;
  double factor_, warmup_ = 1, peak_ = 0;
  int d_model_;
  int64_t last_update_;
};

}  // namespace sixfold
