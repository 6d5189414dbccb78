#pragma once
#include <cstdint>
#include <span>

#include "base/random.h"

namespace sixfold {

/// Replaces random tokens of training samples by the unknown token, different ones in each epoch (Iyyer et al.
/// 2015; Sennrich et al. 2016).
struct TokenDropout {
  double rate = 0;  ///< the probability for each token, below 1
  uint64_t seed = 1;

  /// Which tokens are replaced is a function of the seed, the sample, the epoch and `stream`, a number that
  /// distinguishes, for example, source and target.
  void apply(std::span<int32_t> tokens, int32_t unk, uint64_t stream, int64_t sample, int64_t epoch) const {
    if (rate == 0) return;
    RandomStream random = random_of_sample(seed, stream, epoch, sample);
    for (int32_t& token : tokens)
      if (random.uniform() < rate) token = unk;
  }
};

}  // namespace sixfold
