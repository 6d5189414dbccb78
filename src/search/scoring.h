#pragma once
#include <vector>

#include "search/scorer.h"

namespace sixfold {

/// Returns the log-probability of each label of a batch of pairs, by pair. Throws an input error for a label
/// that is not among the tokens `allowed`, if there are some. For the other parameters see `score_targets`.
std::vector<std::vector<double>> score_batch(const DecodeWorkspace& decoding, const Batch& batch,
                                             std::span<const int32_t> allowed = {});

/// Returns the log-probability of each token of each target, including the end token. Sources have end tokens,
/// or are the values of patches of images; targets have neither start nor end tokens. At most `batch_tokens`
/// source and target tokens are scored at once, unless a single pair has more. Throws an input error if the
/// numbers of sources and targets differ, or if a source is empty. `allowed`: the tokens over which
/// probabilities are normalized, in ascending order, such as a shortlist; they must contain all tokens to
/// score, also the end token. Empty: all tokens. If the workspace has an ensemble, its models score together.
std::vector<std::vector<double>> score_targets(const DecodeWorkspace& decoding,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const std::vector<std::vector<int32_t>>& targets,
                                               int64_t batch_tokens, std::span<const int32_t> allowed = {});

}  // namespace sixfold
