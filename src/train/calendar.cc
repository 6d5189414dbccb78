#include "train/calendar.h"

namespace sixfold {
namespace {

bool is_multiple(int64_t update, int64_t every_updates) {
  return every_updates > 0 && update % every_updates == 0;
}

}  // namespace

Calendar::Calendar(const TrainOptions& options, const RunLength& length, const TrainingState& state)
    : options_(options), length_(length), saved_at_(state.seconds) {}

bool Calendar::finished(const TrainingState& state) const {
  const int patience = options_.validation.patience;
  return (patience > 0 && state.without_better >= patience) ||
         (state.last_update > 0 && state.update >= state.last_update);
}

bool Calendar::line(const TrainingState& state) const {
  return is_multiple(state.update, options_.log.every_updates) || finished(state);
}

bool Calendar::validation(const TrainingState& state, Batcher::Position before) const {
  return is_multiple(state.update, options_.validation.every_updates) ||
         length_.passes(options_.validation.every_epochs, before, state.position) || finished(state);
}

bool Calendar::checkpoint(const TrainingState& state) const {
  const double minutes = options_.checkpoint.every_minutes;
  return is_multiple(state.update, options_.checkpoint.every_updates) ||
         (minutes > 0 && state.seconds - saved_at_ >= 60 * minutes);
}

}  // namespace sixfold
