#pragma once
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "base/threads.h"
#include "data/check/word_translations.h"

namespace sixfold {

/// Tells which targets do not belong to their sources, by what words mean in a sample of the same text: by how
/// much the words of each side are likelier beside those of the other (`WordTranslations::evidence`, in both
/// directions). A target is shuffled if that is less than what is seen in the sample in all but about 1 of 500
/// of the pairs that belong together; how many of the sample do not is estimated by what is seen in pairs that
/// were put together at random.
class ShuffledTargets {
 public:
  /// Learns from a sample, of at most some ten million pairs of words. It is divided into two halves, and what
  /// is learned from one judges the pairs of the other, since the rare words of a pair explain each other to
  /// those who have learned from it. The threads do not affect the result. When `stop` becomes nonzero,
  /// `Cancelled` is thrown.
  ShuffledTargets(std::span<const LinePair> sample, ThreadPool& threads,
                  const std::atomic<int>* stop = nullptr);

  /// Whether something can be told: not of few pairs, nor of texts in which most targets fit no better than
  /// others, which are shuffled as a whole, or whose words do not stand for others.
  bool learned() const { return threshold_.has_value(); }
  /// Whether the target of a pair does not belong to its source; false if nothing can be told. Any number of
  /// threads may call it.
  bool contain(const LinePair& pair) const;

 private:
  /// What one half of the sample teaches.
  struct Half {
    std::optional<WordTranslations> forward, backward;
  };
  double evidence(const LinePair& pair, size_t judged_half) const;

  Half halves_[2];
  std::optional<double> threshold_;
};

}  // namespace sixfold
