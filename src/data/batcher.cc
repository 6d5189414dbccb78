#include "data/batcher.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace sixfold {
namespace {

// Fisher and Yates, from the last place down. The standard library's shuffle differs between platforms.
void shuffle(std::vector<int32_t>& values, RandomStream& random) {
  for (size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[random.below(static_cast<uint32_t>(i))]);
}

void add_pair(Batch& batch, const TokenCorpus& corpus, int32_t i) {
  const auto target = corpus.target[i];
  batch.source.add(corpus.source[i]);
  batch.target_input.ids.push_back(corpus.target_start);
  batch.target_input.ids.insert(batch.target_input.ids.end(), target.begin(), target.end());
  batch.target_input.rows.add(static_cast<int>(target.size()) + 1);
  batch.target_output.insert(batch.target_output.end(), target.begin(), target.end());
  batch.target_output.push_back(corpus.target_eos);
  batch.sentence_ids.push_back(i);
}

std::span<const int32_t> rows_of(const std::vector<int32_t>& ids, const Ragged& rows, int i) {
  return std::span(ids).subspan(rows.begin(i), rows.length(i));
}

void add_pair(Batch& batch, const Batch& from, int i) {
  const Ragged& target_rows = from.target_input.rows;
  const auto output = rows_of(from.target_output, target_rows, i);
  batch.source.add(rows_of(from.source.ids, from.source.rows, i));
  batch.target_input.add(rows_of(from.target_input.ids, target_rows, i));
  batch.target_output.insert(batch.target_output.end(), output.begin(), output.end());
  batch.sentence_ids.push_back(from.sentence_ids[i]);
}

}  // namespace

Batcher::Batcher(const TokenCorpus& corpus, const BatcherOptions& options)
    : corpus_(&corpus), options_(options) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  require(corpus.size() > 0, "there is nothing to make batches of: the corpus is empty");
  require(corpus.size() <= most, "a corpus of {} pairs is too large; at most {} fit", corpus.size(), most);
  require(options.batch_tokens >= 1 && options.batch_tokens <= most,
          "batch_tokens is {}; it must be from 1 to {}", options.batch_tokens, most);
  require(options.max_sentences >= 0, "max_sentences is {}; it must be at least 0", options.max_sentences);
  plan_epoch();
}

void Batcher::plan_epoch() {
  RandomStream random(options_.seed, static_cast<uint64_t>(position_.epoch));
  order_.resize(corpus_->size());
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.shuffle) shuffle(order_, random);
  if (options_.sort_by_length)
    std::stable_sort(order_.begin(), order_.end(), [this](int32_t a, int32_t b) {
      return std::pair(corpus_->target[a].size(), corpus_->source[a].size()) <
             std::pair(corpus_->target[b].size(), corpus_->source[b].size());
    });

  starts_ = {0};
  int64_t tokens = 0;
  for (int64_t i = 0; i < corpus_->size(); ++i) {
    const int64_t more = corpus_->tokens(order_[i]), sentences = i - starts_.back();
    const bool full = tokens + more > options_.batch_tokens || sentences == options_.max_sentences;
    if (full && sentences > 0) {
      starts_.push_back(i);
      tokens = 0;
    }
    tokens += more;
  }
  starts_.push_back(corpus_->size());

  batches_.resize(batches_in_epoch());
  std::iota(batches_.begin(), batches_.end(), 0);
  if (options_.shuffle && options_.sort_by_length) shuffle(batches_, random);
}

Batch Batcher::next() {
  const int32_t cut = batches_[position_.index];
  Batch batch;
  for (int64_t i = starts_[cut]; i < starts_[cut + 1]; ++i) add_pair(batch, *corpus_, order_[i]);
  if (++position_.index == batches_in_epoch()) {
    position_ = {position_.epoch + 1, 0};
    plan_epoch();
  }
  return batch;
}

void Batcher::seek(Position position) {
  require(position.epoch >= 0 && position.index >= 0, "epoch {}, batch {} is no place in a corpus",
          position.epoch, position.index);
  position_ = {position.epoch, 0};
  plan_epoch();
  require(position.index < batches_in_epoch(),
          "epoch {} has no batch {}, only {}; the corpus or the batch size is not what it was", position.epoch,
          position.index, batches_in_epoch());
  position_ = position;
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
