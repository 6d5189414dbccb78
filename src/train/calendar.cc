#include "train/calendar.h"

namespace sixfold {
namespace {

bool is_multiple(int64_t update, int64_t every_updates) {
  return every_updates > 0 && update % every_updates == 0;
}

/// Whether an update is one of 1, 2, 5, 10, 20, 50, ...
bool is_round(int64_t update) {
  while (update > 0 && update % 10 == 0) update /= 10;
  return update == 1 || update == 2 || update == 5;
}

}  // namespace

Calendar::Calendar(const TrainOptions& options, const RunLength& length, const TrainingState& state)
    : options_(options), length_(length), saved_at_(state.seconds) {}

bool Calendar::is_out_of_patience(const TrainingState& state) const {
  const int patience = options_.validation.patience;
  return patience > 0 && state.without_better >= patience;
}

bool Calendar::finished(const TrainingState& state) const {
  return is_out_of_patience(state) || (state.last_update > 0 && state.update >= state.last_update);
}

bool Calendar::should_log(const TrainingState& state) const {
  const int64_t every = options_.log.every_updates;
  return is_multiple(state.update, every) || (state.update < every && is_round(state.update)) ||
         finished(state);
}

bool Calendar::should_validate(const TrainingState& state, Batcher::Position before) const {
  return is_multiple(state.update, options_.validation.every_updates) ||
         length_.passes(options_.validation.every_epochs, before, state.position) || finished(state);
}

bool Calendar::should_save(const TrainingState& state) const {
  const double minutes = options_.checkpoint.every_minutes;
  return is_multiple(state.update, options_.checkpoint.every_updates) ||
         (minutes > 0 && state.seconds - saved_at_ >= 60 * minutes);
}

}  // namespace sixfold
