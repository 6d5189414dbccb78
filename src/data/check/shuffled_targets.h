#pragma once
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "base/threads.h"
#include "data/check/word_translations.h"

namespace sixfold {

/// Detects targets that do not belong to their sources, by word translations that are learned from a sample of
/// the same text. The score of a pair is `WordTranslations::evidence`, summed over both directions. A target
/// counts as shuffled if its score is below a threshold that all but about 1 in 500 of the matching pairs of
/// the sample reach, or, where many are shuffled, all but some in 100 (docs/check.md). The share of pairs in
/// the sample that do not match is estimated from the scores of randomly combined pairs.
class ShuffledTargets {
 public:
  /// Learns from a sample, of which at most about ten million pairs of words are used. The sample is divided
  /// into two halves, and the model of one half scores the pairs of the other, since a model overfits to the
  /// rare words of the pairs that it was trained on. The threads do not affect the result. When `stop` becomes
  /// nonzero, `Cancelled` is thrown.
  ShuffledTargets(std::span<const LinePair> sample, ThreadPool& threads,
                  const std::atomic<int>* stop = nullptr);

  /// Whether shuffled targets can be detected. They can't with too few pairs, or if most targets fit their
  /// sources no better than random targets do.
  bool has_learned() const { return threshold_.has_value(); }
  /// Whether the target of a pair does not belong to its source; false if this can't be detected. Any number of
  /// threads may call it.
  bool is_shuffled(const LinePair& pair) const;

 private:
  /// The models that were learned from one half of the sample, of both directions.
  struct Half {
    std::optional<WordTranslations> forward, backward;
  };
  double evidence(const LinePair& pair, size_t tested_half) const;

  Half halves_[2];
  std::optional<double> threshold_;
};

}  // namespace sixfold
