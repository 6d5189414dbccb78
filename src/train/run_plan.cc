#include "train/run_plan.h"

#include <algorithm>

#include "train/resume.h"

namespace sixfold {

void RunPlan::begin(TrainingState& state, bool limits_changed, const std::string& log) {
  const bool timed = options_.train.minutes > 0;
  estimated_ = options_.train.epochs > 0 && !length_.sees_end(state.position);
  if (limits_changed || timed) max_updates_ = length_.planned(state);
  if (timed) pace_.emplace(estimated_times(state));
  if (!limits_changed) {
    if (timed) add_logged_plan(state, log, replica_.processes());
    return follow_plan(state);
  }
  int64_t last = max_updates_;
  if (timed && state.update > 0) {
    const int64_t in_time = last_update_within(estimated_times(state), state.update, state.seconds);
    last = last > 0 ? std::min(last, in_time) : in_time;
  }
  state.plan.clear();
  if (last > 0) state.plan = {{0, last}};
  follow_plan(state);
}

/// Before anything is measured, a validation takes as long as training on as many tokens, and a checkpoint is
/// written with 200 MB a second.
RunTimes RunPlan::estimated_times(const TrainingState& state) const {
  RunTimes times{.limit = 60 * options_.train.minutes,
                 .validation_every = length_.validation_every(),
                 .checkpoint_every = static_cast<double>(options_.checkpoint.every_updates)};
  const double batch = static_cast<double>(options_.data.batch_tokens) * options_.train.accumulate;
  if (const Dataset* data = task_.validation_data()) {
    int64_t tokens = 0;
    for (int64_t i = 0; i < data->size(); ++i) tokens += data->tokens(i, 0);
    times.validation_size = static_cast<double>(tokens) / batch;
  }
  times.measure_size = static_cast<double>(task_.measure_tokens()) / batch;
  times.checkpoint = 12 * static_cast<double>(parameter_count(replica_.model().config())) / 2e8;
  if (state.update > 0) times.update = state.seconds / static_cast<double>(state.update);
  return times;
}

std::optional<PlannedEnd> RunPlan::record_update(TrainingState& state, double seconds) {
  follow_plan(state);
  const bool becomes_exact = estimated_ && length_.sees_end(state.position);
  if (becomes_exact) {
    estimated_ = false;
    max_updates_ = length_.planned(state);
  }
  if (!pace_) {
    if (!becomes_exact || max_updates_ == state.last_update) return std::nullopt;
    return change(state, max_updates_);
  }
  pace_->record_update(seconds);
  const bool repeats = !state.plan.empty() && state.plan.back().update >= state.update;
  if (repeats) return std::nullopt;
  auto last = pace_->replanned(state.update, state.seconds, state.last_update);
  if (last && max_updates_ > 0) last = std::min(*last, max_updates_);
  if (!last || *last == state.last_update) return std::nullopt;
  return change(state, *last);
}

std::optional<PlannedEnd> RunPlan::record_rollback(TrainingState& state) {
  follow_plan(state);
  if (options_.train.epochs == 0 || estimated_) return std::nullopt;
  max_updates_ = length_.planned(state);
  if (max_updates_ == state.last_update || (pace_ && max_updates_ > state.last_update)) return std::nullopt;
  return change(state, max_updates_);
}

PlannedEnd RunPlan::change(TrainingState& state, int64_t last) const {
  state.plan.push_back({state.update, last});
  follow_plan(state);
  return state.plan.back();
}

void RunPlan::record_validation(double seconds) {
  if (pace_) pace_->record_validation(seconds);
}

void RunPlan::record_checkpoint(double seconds) {
  if (pace_) pace_->record_checkpoint(seconds);
}

}  // namespace sixfold
