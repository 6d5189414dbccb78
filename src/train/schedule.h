#pragma once
#include "train/config.h"

namespace sixfold {

/// The learning rate of each update.
class Schedule {
 public:
  static constexpr int64_t paper_warmup = 4000;  ///< section 5.3

  /// `last_update` is where linear and cosine reach 0; 0 while it is not known yet: they stay at the peak, and
  /// a warm-up that is left to us is the paper's.
  Schedule(const ScheduleOptions& options, int d_model, int64_t last_update);
  /// Of update `step`, counted from 1.
  double rate(int64_t step) const;

 private:
  ScheduleKind kind_;
  double factor_, warmup_ = 1, peak_ = 0;
  int d_model_;
  int64_t last_update_;
};

}  // namespace sixfold
