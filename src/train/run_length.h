#pragma once
#include "data/batcher.h"
#include "train/config.h"
#include "train/state.h"

namespace sixfold {

/// Converts limits in epochs to numbers of updates. For minutes see `Pace`.
class RunLength {
 public:
  /// `options` and `batcher` must outlive this object. No other thread may use `batcher` at the same time.
  /// `max_places`: maximum number of samples ahead for which batches are counted exactly.
  RunLength(const TrainOptions& options, const Dataset& data, const Batcher& batcher,
            int64_t max_places = 4'000'000);

  /// Returns the last update of the run according to train.updates and train.epochs, given its current state; 0
  /// if the only limit is train.minutes. With train.epochs it is exact if `sees_end`, and otherwise an
  /// estimate.
  int64_t planned(const TrainingState& state) const;
  /// Whether the end of the last epoch is so near that the batches up to it can be counted.
  bool sees_end(Batcher::Position position) const { return places_left(position) <= max_places_; }

  /// The mean number of updates between validations, for a forecast of their time; 0: there is only the last
  /// one.
  double validation_every() const;

  /// Whether a multiple of `every_epochs` lies after position `before` and not after position `after`. 0:
  /// never.
  bool passes(double every_epochs, Batcher::Position before, Batcher::Position after) const;

 private:
  double epochs(Batcher::Position position) const;
  Batcher::Position last_position() const;
  int64_t places_left(Batcher::Position position) const;

  const TrainOptions& options_;
  const Batcher& batcher_;
  int64_t places_;  ///< number of places in an epoch
  int64_t max_places_;
};

}  // namespace sixfold
