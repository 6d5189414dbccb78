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

/// Lets the decay begin at update `at`, or continue from there. The decay of wsd begins later: when only as
/// many updates are left as it takes.
void Schedule::begin_decay(double at) {
  decay_from_ = at;
  if (options_.kind != ScheduleKind::wsd || done_before_ > 0) return;
  constexpr int64_t part_of_run = 10;
  const int64_t updates = options_.decay > 0 ? options_.decay : last_update_ / part_of_run;
  decay_from_ = std::max(at, static_cast<double>(last_update_ - updates));
}

/// The share of the decay that is done at an update.
double Schedule::decay_done(double step) const {
  if (last_update_ == 0 || step < decay_from_) return done_before_;
  const double now =
      std::min(1.0, (step - decay_from_) / std::max(1.0, static_cast<double>(last_update_) - decay_from_));
  return done_before_ + (1 - done_before_) * now;
}

void Schedule::change(const PlannedEnd& end) {
  const auto at = static_cast<double>(end.update);
  const bool rises = at < warmup_from_ + warmup_;
  if (!rises) done_before_ = decay_done(at);
  last_update_ = end.last_update;
  if (!rises) return begin_decay(at);
  const double risen = (at - warmup_from_) / warmup_;
  warmup_ = static_cast<double>(warmup_for(end.last_update));
  warmup_from_ = at - risen * warmup_;
  begin_decay(warmup_from_ + warmup_);
}

/// The rate when `rest`, from 1 to 0, is left of the difference between the peak and the lowest rate.
double Schedule::decayed(double rest) const { return options_.min_rate + (peak_ - options_.min_rate) * rest; }

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
      return decayed(1 - decay_done(at));
    case ScheduleKind::cosine:
      return decayed((1 + std::cos(std::numbers::pi * decay_done(at))) / 2);
    case ScheduleKind::constant:
      return peak_;
    case ScheduleKind::polynomial:
    case ScheduleKind::wsd:
      return decayed(std::pow(1 - decay_done(at), options_.power));
    case ScheduleKind::plateau:
      return std::max(options_.min_rate, peak_ * plateau_scale_);
  }
  throw_unknown("schedule", options_.kind);
}

bool Schedule::record_validation(bool better, TrainingState& state) const {
  if (options_.kind != ScheduleKind::plateau || static_cast<double>(state.update) < warmup_from_ + warmup_)
    return false;
  state.stalled = better ? 0 : state.stalled + 1;
  if (state.stalled < options_.plateau_patience) return false;
  state.stalled = 0;
  // The scale stays at least min_rate / peak: if a resumed run has a lower min_rate, the rate continues from
  // here.
  const double scale = std::max(state.plateau_scale * options_.plateau_factor, options_.min_rate / peak_);
  if (scale >= state.plateau_scale) return false;
  state.plateau_scale = scale;
  return true;
}

}  // namespace sixfold
