#pragma once
#include <optional>

#include "data/batcher.h"
#include "train/state.h"

namespace sixfold {

/// How epochs and minutes become updates.
class RunLength {
 public:
  /// `options` and `batcher` must outlive it. `batcher` is read here and not by a thread of its own at the same
  /// time.
  RunLength(const TrainOptions& options, const TokenCorpus& corpus, const Batcher& batcher);

  /// The update that ends the run by train.updates and train.epochs, seen from where it stands; 0 where only
  /// minutes are given.
  int64_t planned(const TrainingState& state) const;

  /// What of train.minutes have become updates: none before some time has shown how long one takes, and none
  /// after it was said once. A part of the time is left for validation.
  std::optional<int64_t> measured(const TrainingState& state) const;

  /// Whether a multiple of so many epochs lies between two positions, the first not counted. 0: never.
  bool passes(double every_epochs, Batcher::Position before, Batcher::Position after) const;

 private:
  double epochs(Batcher::Position position) const;

  const TrainOptions& options_;
  const Batcher& batcher_;
  int64_t places_;  ///< of an epoch
};

}  // namespace sixfold
