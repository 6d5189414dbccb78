#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sixfold {

Schedule::Schedule(const ScheduleOptions& options, int d_model, int64_t last_update)
    : options_(options), d_model_(d_model), last_update_(last_update) {}

double Schedule::rate(int64_t step) const {
  const double at = static_cast<double>(step),
               warmup = static_cast<double>(std::max<int64_t>(1, options_.warmup));
  const double peak = options_.learning_rate;
  // Section 5.3, equation 3.
  if (options_.kind == ScheduleKind::noam)
    return options_.factor / std::sqrt(d_model_) *
           std::min(1 / std::sqrt(at), at / (warmup * std::sqrt(warmup)));
  if (at < warmup) return peak * at / warmup;
  if (options_.kind == ScheduleKind::inverse_sqrt) return peak * std::sqrt(warmup / at);
  if (options_.kind == ScheduleKind::constant || last_update_ == 0) return peak;
  const double past = std::min(1.0, (at - warmup) / std::max(1.0, static_cast<double>(last_update_) - warmup));
  return options_.kind == ScheduleKind::linear ? peak * (1 - past)
                                               : peak * (1 + std::cos(std::numbers::pi * past)) / 2;
}

}  // namespace sixfold
