#include "train/run_length.h"

#include <algorithm>
#include <cmath>

#include "data/epoch_order.h"

namespace sixfold {

RunLength::RunLength(const TrainOptions& options, const Dataset& data, const Batcher& batcher,
                     int64_t max_places)
    : options_(options),
      batcher_(batcher),
      places_(EpochOrder(data.parts(), false, 0).places()),
      max_places_(max_places) {}

/// Where the last epoch ends.
Batcher::Position RunLength::last_position() const {
  const double whole = std::floor(options_.train.epochs);
  const double places = std::ceil((options_.train.epochs - whole) * static_cast<double>(places_));
  return {.epoch = static_cast<int64_t>(whole), .place = static_cast<int64_t>(places)};
}

int64_t RunLength::places_left(Batcher::Position position) const {
  const Batcher::Position last = last_position();
  return std::max<int64_t>(0, (last.epoch - position.epoch) * places_ + last.place - position.place);
}

double RunLength::epochs(Batcher::Position position) const {
  return static_cast<double>(position.epoch) +
         static_cast<double>(position.place) / static_cast<double>(places_);
}

int64_t RunLength::planned(const TrainingState& state) const {
  int64_t last = options_.train.updates;
  if (options_.train.epochs > 0) {
    const int64_t left = places_left(state.position);
    int64_t batches = 0;
    if (left <= max_places_) {
      batches = batcher_.batches_between(state.position, last_position());
    } else {  // extrapolated from the next `max_places_` places
      const int64_t place = state.position.place + max_places_;
      const Batcher::Position seen{state.position.epoch + place / places_, place % places_};
      batches = std::llround(static_cast<double>(batcher_.batches_between(state.position, seen)) *
                             (static_cast<double>(left) / static_cast<double>(max_places_)));
    }
    const int64_t accumulate = options_.train.accumulate;
    const int64_t updates = state.update + (batches + accumulate - 1) / accumulate;
    last = last > 0 ? std::min(last, updates) : updates;
  }
  return last;
}

double RunLength::validation_every() const {
  const ValidationOptions& o = options_.validation;
  double share = o.every_updates > 0 ? 1 / static_cast<double>(o.every_updates) : 0;
  if (o.every_epochs > 0)
    share += options_.train.accumulate / (o.every_epochs * static_cast<double>(batcher_.batches_in_epoch()));
  return share > 0 ? 1 / share : 0;
}

bool RunLength::passes(double every_epochs, Batcher::Position before, Batcher::Position after) const {
  return every_epochs > 0 &&
         std::floor(epochs(after) / every_epochs) > std::floor(epochs(before) / every_epochs);
}

}  // namespace sixfold
