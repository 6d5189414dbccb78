#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sixfold {

Schedule::Schedule(const ScheduleOptions& options, int d_model, int64_t last_update)
    : kind_(options.kind), factor_(options.factor), d_model_(d_model), last_update_(last_update) {
  constexpr int64_t part_of_run = 10;
  int64_t warmup = options.warmup;
  if (warmup == 0) {
    warmup = paper_warmup;
    if (kind_ != ScheduleKind::noam && last_update > 0) warmup = std::min(warmup, last_update / part_of_run);
  }
  warmup_ = static_cast<double>(std::max<int64_t>(1, warmup));
  peak_ = options.learning_rate > 0
              ? options.learning_rate
              : 1 / std::sqrt(static_cast<double>(d_model) * static_cast<double>(paper_warmup));
}

double Schedule::rate(int64_t step) const {
  const double at = static_cast<double>(step);
  // Section 5.3, equation 3.
  if (kind_ == ScheduleKind::noam)
    return factor_ / std::sqrt(d_model_) * std::min(1 / std::sqrt(at), at / (warmup_ * std::sqrt(warmup_)));
  if (at < warmup_) return peak_ * at / warmup_;
  if (kind_ == ScheduleKind::inverse_sqrt) return peak_ * std::sqrt(warmup_ / at);
  if (kind_ == ScheduleKind::constant || last_update_ == 0) return peak_;
  const double past =
      std::min(1.0, (at - warmup_) / std::max(1.0, static_cast<double>(last_update_) - warmup_));
  return kind_ == ScheduleKind::linear ? peak_ * (1 - past)
                                       : peak_ * (1 + std::cos(std::numbers::pi * past)) / 2;
}

}  // namespace sixfold
