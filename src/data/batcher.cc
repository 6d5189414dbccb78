#include "data/batcher.h"

#include <limits>

#include "base/error.h"
#include "base/plural.h"

namespace sixfold {

Batcher::Batcher(const Dataset& data, const BatcherOptions& options)
    : data_(&data), options_(options), order_(data.parts(), options.shuffle, options.seed) {
  constexpr int64_t max_count = std::numeric_limits<int32_t>::max();
  const int64_t size = data.size();
  require(size <= max_count, "the dataset has {} samples; at most {} are supported", size, max_count);
  require(options.batch_tokens >= 1 && options.batch_tokens <= max_count,
          "batch_tokens is {}; it must be from 1 to {}", options.batch_tokens, max_count);
  require(options.max_samples >= 0, "max_samples is {}; it must be at least 0", options.max_samples);
}

/// The index after the last sample of the batch that begins at `begin`.
int64_t Batcher::end_of_batch(Position begin) const {
  int64_t tokens = 0, place = begin.place;
  for (; place < order_.places(); ++place) {
    tokens += data_->tokens(order_.sample(begin.epoch, place), begin.epoch);
    const int64_t samples = place - begin.place;
    const bool full = tokens > options_.batch_tokens || samples == options_.max_samples;
    if (full && samples > 0) break;
  }
  return place;
}

Batch Batcher::next() {
  const int64_t end = end_of_batch(position_);
  BatchBuilder builder;
  for (; position_.place < end; ++position_.place) {
    const int64_t sample = order_.sample(position_.epoch, position_.place);
    data_->add(sample, position_.epoch, builder.sample(static_cast<int32_t>(sample)));
  }
  if (position_.place == order_.places()) position_ = {position_.epoch + 1, 0};
  return builder.take();
}

void Batcher::seek(Position position) {
  require(position.epoch >= 0 && position.place >= 0,
          "a position in a dataset can't be negative (epoch {}, sample {})", position.epoch, position.place);
  require(position.place < order_.places(),
          "the checkpoint is at sample {} of epoch {}, but an epoch of these data has only {}, so they are not "
          "those that the run began with; restore those data, or start a new run",
          position.place + 1, position.epoch + 1, counted(order_.places(), "sample"));
  position_ = position;
}

int64_t Batcher::batches_between(Position from, Position to) const {
  int64_t batches = 0;
  while (from.epoch < to.epoch || (from.epoch == to.epoch && from.place < to.place)) {
    from.place = end_of_batch(from);
    if (from.place == order_.places()) from = {from.epoch + 1, 0};
    ++batches;
  }
  return batches;
}

}  // namespace sixfold
