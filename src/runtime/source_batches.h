#pragma once
#include <span>
#include <vector>

#include "ops/batch.h"

namespace sixfold {

/// Packs what an encoder reads into batches.
class SourceBatches {
 public:
  /// `values` is the number of ids of a token: 1, or those of a patch of an image.
  SourceBatches(int64_t most_tokens, int values) : most_tokens_(most_tokens), values_(values) {}

  /// Adds the ids of a sample, in a new batch if the last has no room. Returns the builder, for its labels.
  BatchBuilder& add(int32_t sample, std::span<const int32_t> ids) {
    if (builder_.batch().tokens() + std::ssize(ids) / values_ > most_tokens_) finish();
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

  int64_t most_tokens_;
  int values_;
  BatchBuilder builder_;
  std::vector<Batch> batches_;
};

}  // namespace sixfold
