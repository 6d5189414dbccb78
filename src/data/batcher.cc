#include "data/batcher.h"

#include <limits>

#include "base/error.h"
#include "base/plural.h"

namespace sixfold {
Batcher::Batcher(const TokenCorpus& corpus, const BatcherOptions& options)
    : corpus_(&corpus), options_(options), order_(corpus.parts(), options.shuffle, options.seed) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  require(corpus.size() <= most, "a corpus of {} pairs is too large; at most {} fit", corpus.size(), most);
  require(options.batch_tokens >= 1 && options.batch_tokens <= most,
          "batch_tokens is {}; it must be from 1 to {}", options.batch_tokens, most);
  require(options.max_sentences >= 0, "max_sentences is {}; it must be at least 0", options.max_sentences);
}

/// The place behind the last pair of the batch that begins there.
int64_t Batcher::end_of_batch(Position begin) const {
  int64_t tokens = 0, place = begin.place;
  for (; place < order_.places(); ++place) {
    tokens += corpus_->tokens(order_.pair(begin.epoch, place));
    const int64_t sentences = place - begin.place;
    const bool full = tokens > options_.batch_tokens || sentences == options_.max_sentences;
    if (full && sentences > 0) break;
  }
  return place;
}

Batch Batcher::next() {
  const int64_t end = end_of_batch(position_);
  BatchBuilder builder;
  for (; position_.place < end; ++position_.place) {
    const int64_t pair = order_.pair(position_.epoch, position_.place);
    builder.sample(static_cast<int32_t>(pair))
        .source(corpus_->source[pair])
        .teacher_forced(corpus_->target[pair], {options_.decoder_start, corpus_->target_eos});
  }
  if (position_.place == order_.places()) position_ = {position_.epoch + 1, 0};
  return builder.take();
}

void Batcher::seek(Position position) {
  require(position.epoch >= 0 && position.place >= 0,
          "a position in a corpus can't be negative (epoch {}, pair {})", position.epoch, position.place);
  require(position.place < order_.places(),
          "the checkpoint is at pair {} of epoch {}, but an epoch of this text has only {}; it is not the text "
          "that the run began with: put that back, or begin a new run",
          position.place + 1, position.epoch + 1, counted(order_.places(), "pair"));
  position_ = position;
}

int64_t Batcher::batches_in_epoch() const {
  if (!batches_) {
    batches_ = 0;
    for (Position at; at.place < order_.places(); at.place = end_of_batch(at)) ++*batches_;
  }
  return *batches_;
}

}  // namespace sixfold
