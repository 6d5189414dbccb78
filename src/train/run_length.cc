#include "train/run_length.h"

#include <algorithm>
#include <cmath>

#include "data/epoch_order.h"

namespace sixfold {

RunLength::RunLength(const TrainOptions& options, const Dataset& data, const Batcher& batcher)
    : options_(options), batcher_(batcher), places_(EpochOrder(data.parts(), false, 0).places()) {}

double RunLength::epochs(Batcher::Position position) const {
  return static_cast<double>(position.epoch) +
         static_cast<double>(position.place) / static_cast<double>(places_);
}

int64_t RunLength::planned(const TrainingState& state) const {
  int64_t last = options_.train.updates;
  if (options_.train.epochs > 0) {
    const double left = std::max(0.0, options_.train.epochs - epochs(state.position));
    const double batches = left * static_cast<double>(batcher_.batches_in_epoch());
    const auto updates = state.update + static_cast<int64_t>(std::ceil(batches / options_.train.accumulate));
    last = last > 0 ? std::min(last, updates) : updates;
  }
  return last;
}

std::optional<int64_t> RunLength::measured(const TrainingState& state) const {
  const double given = options_.train.minutes * 60;
  if (given <= 0 || state.rate_measured || state.update < 10 || state.seconds < 0.03 * given)
    return std::nullopt;
  const double updates = 0.95 * given / state.seconds * static_cast<double>(state.update);
  return std::max(state.update, static_cast<int64_t>(updates));
}

bool RunLength::passes(double every_epochs, Batcher::Position before, Batcher::Position after) const {
  return every_epochs > 0 &&
         std::floor(epochs(after) / every_epochs) > std::floor(epochs(before) / every_epochs);
}

}  // namespace sixfold
