#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "data/epoch_order.h"
#include "data/token_corpus.h"
#include "tensor/batch.h"

namespace sixfold {

struct BatcherOptions {
  int64_t batch_tokens = 4096;  ///< most source and target tokens of a batch, end symbols counted, no padding
  int max_sentences = 0;        ///< most pairs of a batch; 0 for no limit
  bool shuffle = true;          ///< each epoch in an order of its own
  uint64_t seed = 1;
  int32_t decoder_start = -1;  ///< what the decoder reads first; -1: an embedding of zeros
};

/// Cuts a corpus into batches, epoch after epoch, in the order of `EpochOrder`: a function of seed and epoch
/// alone, the same on every machine. A batch is as full as the budget allows; a pair larger than the budget is
/// a batch of its own; none spans two epochs. Takes memory for one batch, however large the corpus.
class Batcher {
 public:
  /// Where the next batch begins: the epoch and a place in its order, both from 0.
  struct Position {
    int64_t epoch = 0, place = 0;
    /// The epoch, from 1, of the last pair before the position; at the very beginning, of the first.
    int64_t last_epoch() const { return place == 0 && epoch > 0 ? epoch : epoch + 1; }
    friend bool operator==(const Position&, const Position&) = default;
  };

  /// `corpus` must outlive the batcher. Throws when it is empty, or a limit is out of range.
  Batcher(const TokenCorpus& corpus, const BatcherOptions& options);

  Batch next();

  Position position() const { return position_; }
  /// Goes to a position that a batcher with the same corpus and options was at. Throws when there is none such.
  void seek(Position position);

  /// How many batches the first epoch has; others have about as many. Counted once, in a pass over the lengths.
  int64_t batches_in_epoch() const;

 private:
  int64_t end_of_batch(Position begin) const;

  const TokenCorpus* corpus_;
  BatcherOptions options_;
  EpochOrder order_;
  Position position_;
  mutable std::optional<int64_t> batches_;
};

}  // namespace sixfold
