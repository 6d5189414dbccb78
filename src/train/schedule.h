#pragma once
#include "train/config.h"

namespace sixfold {

/// The learning rate of each update.
class Schedule {
 public:
  /// `last_update` is where linear and cosine reach 0; 0 while it is not known yet: they stay at the peak.
  Schedule(const ScheduleOptions& options, int d_model, int64_t last_update);
  /// Of update `step`, counted from 1.
  double rate(int64_t step) const;

 private:
  ScheduleOptions options_;
  int d_model_;
  int64_t last_update_;
};

}  // namespace sixfold
