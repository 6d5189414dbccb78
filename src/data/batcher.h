#pragma once
#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace sixfold {

struct BatcherOptions {
  int64_t batch_tokens = 4096;  ///< maximum number of tokens of a batch, as `Dataset::tokens` counts them
  int max_samples = 0;          ///< maximum number of samples of a batch; 0: no limit
  bool shuffle = true;          ///< whether each epoch has a different random order
  uint64_t seed = 1;
};

/// Divides a dataset into batches, epoch after epoch, in the order of `EpochOrder`, which depends only on seed
/// and epoch and is the same on every machine. A batch has as many consecutive samples as `batch_tokens`
/// allows. A sample with more tokens is a batch of its own. No batch spans two epochs. Memory is needed for one
/// batch only.
class Batcher {
 public:
  /// The position of a batch: the epoch, and the index of its first sample in the order of the epoch. Both
  /// count from 0.
  struct Position {
    int64_t epoch = 0, place = 0;
    /// The epoch, counted from 1, of the last sample before the position. At the very beginning it is 1.
    int64_t last_epoch() const { return place == 0 && epoch > 0 ? epoch : epoch + 1; }
    friend bool operator==(const Position&, const Position&) = default;
  };

  /// `data` must outlive the batcher. Throws an input error if it is empty or too large, or if a limit is out
  /// of range.
  Batcher(const Dataset& data, const BatcherOptions& options);

  /// The next batch, after which `position` is that of the one after it.
  Batch next();

  /// The position of the batch that `next` will return.
  Position position() const { return position_; }
  /// Goes to a position of a batcher with the same dataset and options. Throws an input error if the dataset
  /// has no such position.
  void seek(Position position);

  /// The number of batches that begin in [`from`, `to`). Goes through the lengths of their samples.
  int64_t batches_between(Position from, Position to) const;
  /// The number of batches in the first epoch; other epochs have about as many.
  int64_t batches_in_epoch() const { return batches_between({}, {.epoch = 1, .place = 0}); }

 private:
  int64_t end_of_batch(Position begin) const;

  const Dataset* data_;
  BatcherOptions options_;
  EpochOrder order_;
  Position position_;
};

}  // namespace sixfold
