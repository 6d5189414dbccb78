#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace sixfold {

Schedule::Schedule(const ScheduleOptions& options, int d_model, int64_t last_update)
    : options_(options), d_model_(d_model), last_update_(last_update) {
  warmup_ = static_cast<double>(warmup_for(last_update));
  begin_decay(warmup_);
  peak_ = options.learning_rate > 0
              ? options.learning_rate
              : 1 / std::sqrt(static_cast<double>(d_model) * static_cast<double>(paper_warmup));
}

Schedule::Schedule(const ScheduleOptions& options, int d_model, const TrainingState& state)
    : Schedule(options, d_model,
               !state.plan.empty() && state.plan.front().update == 0 ? state.plan.front().last_update : 0) {
  for (const PlannedEnd& end : state.plan)
    if (end.update > 0 && end.update <= state.update) change(end);
  plateau_scale_ = state.plateau_scale;
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

/// The decay begins at an update, or goes on; that of wsd begins when as many updates are left as it takes.
void Schedule::begin_decay(double at) {
  decay_from_ = at;
  if (options_.kind != ScheduleKind::wsd || past_then_ > 0) return;
  constexpr int64_t part_of_run = 10;
  const int64_t updates = options_.decay > 0 ? options_.decay : last_update_ / part_of_run;
  decay_from_ = std::max(at, static_cast<double>(last_update_ - updates));
}

/// How much of the decay is past.
double Schedule::past(double step) const {
  if (last_update_ == 0 || step < decay_from_) return past_then_;
  const double now =
      std::min(1.0, (step - decay_from_) / std::max(1.0, static_cast<double>(last_update_) - decay_from_));
  return past_then_ + (1 - past_then_) * now;
}

void Schedule::change(const PlannedEnd& end) {
  const auto at = static_cast<double>(end.update);
  const bool rises = at < warmup_from_ + warmup_;
  if (!rises) past_then_ = past(at);
  last_update_ = end.last_update;
  if (!rises) return begin_decay(at);
  const double risen = (at - warmup_from_) / warmup_;
  warmup_ = static_cast<double>(warmup_for(end.last_update));
  warmup_from_ = at - risen * warmup_;
  begin_decay(warmup_from_ + warmup_);
}

/// The rate of which a share of the decay is left.
double Schedule::decayed(double share) const { return options_.min_rate + (peak_ - options_.min_rate) * share; }

double Schedule::rate(int64_t step) const {
  const double at = static_cast<double>(step), warmed_up = warmup_from_ + warmup_;
  if (options_.kind != ScheduleKind::noam && at < warmed_up)
    return options_.first_rate + (peak_ - options_.first_rate) * (at - warmup_from_) / warmup_;
  switch (options_.kind) {
    case ScheduleKind::noam:  // section 5.3, equation 3
      return options_.factor / std::sqrt(d_model_) *
             std::min(1 / std::sqrt(at), at / (warmup_ * std::sqrt(warmup_)));
    case ScheduleKind::inverse_sqrt:
      return std::max(options_.min_rate, peak_ * std::sqrt(warmed_up / at));
    case ScheduleKind::linear:
      return decayed(1 - past(at));
    case ScheduleKind::cosine:
      return decayed((1 + std::cos(std::numbers::pi * past(at))) / 2);
    case ScheduleKind::constant:
      return peak_;
    case ScheduleKind::polynomial:
    case ScheduleKind::wsd:
      return decayed(std::pow(1 - past(at), options_.power));
    case ScheduleKind::plateau:
      return std::max(options_.min_rate, peak_ * plateau_scale_);
  }
  throw_unknown("schedule", options_.kind);
}

bool Schedule::took_validation(bool better, TrainingState& state) const {
  if (options_.kind != ScheduleKind::plateau || static_cast<double>(state.update) < warmup_from_ + warmup_)
    return false;
  state.stalled = better ? 0 : state.stalled + 1;
  if (state.stalled < options_.plateau_patience) return false;
  state.stalled = 0;
  // Not below the floor: a run that goes on with a lower one goes on from where it is.
  const double scale = std::max(state.plateau_scale * options_.plateau_factor, options_.min_rate / peak_);
  if (scale >= state.plateau_scale) return false;
  state.plateau_scale = scale;
  return true;
}

}  // namespace sixfold
