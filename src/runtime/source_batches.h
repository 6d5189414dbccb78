#pragma once
#include <span>
#include <vector>

#include "ops/batch.h"

namespace sixfold {

/// Packs the sources of samples into batches of at most `max_tokens` tokens. A longer source has a batch alone.
class SourceBatches {
 public:
  /// `values`: number of ids of a token: 1, or the number of values of a patch of an image.
  SourceBatches(int64_t max_tokens, int values) : max_tokens_(max_tokens), values_(values) {}

  /// Adds the ids of a sample, in a new batch if the last has no room. Returns the builder, which may receive
  /// the labels of the sample.
  BatchBuilder& add(int32_t sample, std::span<const int32_t> ids) {
    if (builder_.batch().tokens() + std::ssize(ids) / values_ > max_tokens_) finish();
    return builder_.sample(sample).source(ids, values_);
  }
  std::vector<Batch> take() {
    finish();
    return std::move(batches_);
  }

 private:
  void finish() {
    if (builder_.batch().size() > 0) batches_.push_back(builder_.take());
  }

  int64_t max_tokens_;
  int values_;
  BatchBuilder builder_;
  std::vector<Batch> batches_;
};

}  // namespace sixfold
