#include "data/batcher.h"

#include <limits>

#include "base/error.h"
#include "base/plural.h"

namespace sixfold {
namespace {

void add_pair(Batch& batch, const TokenCorpus& corpus, int64_t i) {
  const auto target = corpus.target[i];
  batch.source.add(corpus.source[i]);
  batch.target_input.ids.push_back(corpus.target_start);
  batch.target_input.ids.insert(batch.target_input.ids.end(), target.begin(), target.end());
  batch.target_input.rows.add(static_cast<int>(target.size()) + 1);
  batch.labels.insert(batch.labels.end(), target.begin(), target.end());
  batch.labels.push_back(corpus.target_eos);
  batch.sentence_ids.push_back(static_cast<int32_t>(i));
}

std::span<const int32_t> rows_of(const std::vector<int32_t>& ids, const Ragged& rows, int i) {
  return std::span(ids).subspan(rows.begin(i), rows.length(i));
}

void add_pair(Batch& batch, const Batch& from, int i) {
  const Ragged& target_rows = from.target_input.rows;
  const auto output = rows_of(from.labels, target_rows, i);
  batch.source.add(rows_of(from.source.ids, from.source.rows, i));
  batch.target_input.add(rows_of(from.target_input.ids, target_rows, i));
  batch.labels.insert(batch.labels.end(), output.begin(), output.end());
  batch.sentence_ids.push_back(from.sentence_ids[i]);
}

}  // namespace

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
  Batch batch;
  for (; position_.place < end; ++position_.place)
    add_pair(batch, *corpus_, order_.pair(position_.epoch, position_.place));
  if (position_.place == order_.places()) position_ = {position_.epoch + 1, 0};
  return batch;
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

std::vector<Batch> split(const Batch& batch, int64_t max_tokens) {
  std::vector<Batch> parts;
  for (int i = 0; i < batch.sentences(); ++i) {
    const int64_t more = batch.source.rows.length(i) + batch.target_input.rows.length(i);
    if (parts.empty() || parts.back().tokens() + more > max_tokens) parts.emplace_back();
    add_pair(parts.back(), batch, i);
  }
  return parts;
}

}  // namespace sixfold
