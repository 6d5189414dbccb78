#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace sixfold {

Schedule::Schedule(const ScheduleOptions& options, int d_model, int64_t last_update)
    : options_(options), d_model_(d_model), last_update_(last_update) {
  warmup_ = decay_from_ = static_cast<double>(warmup_for(last_update));
  peak_ = options.learning_rate > 0
              ? options.learning_rate
              : 1 / std::sqrt(static_cast<double>(d_model) * static_cast<double>(paper_warmup));
}

Schedule::Schedule(const ScheduleOptions& options, int d_model, const TrainingState& state)
    : Schedule(options, d_model,
               !state.plan.empty() && state.plan.front().update == 0 ? state.plan.front().last_update : 0) {
  for (const PlannedEnd& end : state.plan)
    if (end.update > 0 && end.update <= state.update) change(end);
}

int64_t Schedule::warmup_for(int64_t last_update) const {
  constexpr int64_t part_of_run = 10;
  int64_t warmup = options_.warmup;
  if (warmup == 0) {
    warmup = paper_warmup;
    if (options_.kind != ScheduleKind::noam && last_update > 0)
      warmup = std::min(warmup, last_update / part_of_run);
  }
  return std::max<int64_t>(1, warmup);
}

/// How much of the decay is past.
double Schedule::past(double step) const {
  if (last_update_ == 0) return 0;
  const double now =
      std::min(1.0, (step - decay_from_) / std::max(1.0, static_cast<double>(last_update_) - decay_from_));
  return past_then_ + (1 - past_then_) * now;
}

void Schedule::change(const PlannedEnd& end) {
  const auto at = static_cast<double>(end.update);
  if (at < warmup_from_ + warmup_) {
    const double risen = (at - warmup_from_) / warmup_;
    warmup_ = static_cast<double>(warmup_for(end.last_update));
    warmup_from_ = at - risen * warmup_;
    decay_from_ = warmup_from_ + warmup_;
  } else {
    past_then_ = past(at);
    decay_from_ = at;
  }
  last_update_ = end.last_update;
}

double Schedule::rate(int64_t step) const {
  const double at = static_cast<double>(step), warmed_up = warmup_from_ + warmup_;
  if (options_.kind != ScheduleKind::noam && at < warmed_up) return peak_ * (at - warmup_from_) / warmup_;
  switch (options_.kind) {
    case ScheduleKind::noam:  // section 5.3, equation 3
      return options_.factor / std::sqrt(d_model_) *
             std::min(1 / std::sqrt(at), at / (warmup_ * std::sqrt(warmup_)));
    case ScheduleKind::inverse_sqrt:
      return peak_ * std::sqrt(warmed_up / at);
    case ScheduleKind::linear:
      return peak_ * (1 - past(at));
    case ScheduleKind::cosine:
      return peak_ * (1 + std::cos(std::numbers::pi * past(at))) / 2;
    case ScheduleKind::constant:
      return peak_;
  }
  throw_unknown("schedule", options_.kind);
}

}  // namespace sixfold
