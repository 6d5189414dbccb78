#pragma once
#include <functional>
#include <vector>

#include "model/transformer.h"

namespace sixfold {

/// What decoding put out for one source.
struct Hypothesis {
  std::vector<int32_t> ids;    ///< without start and end symbol
  double log_probability = 0;  ///< the sum over ids and end symbol
  double score = 0;            ///< divided as `SearchRules::normalization` says
};

struct SearchOptions {
  SearchRules rules;            ///< beam_size 1 is greedy search
  int n_best = 1;               ///< hypotheses wanted of each source, at most the beam size
  int64_t batch_tokens = 4096;  ///< source tokens times beam that are decoded at once
};

/// Translates each source (ids with end symbol; an empty one gives empty hypotheses): best first. Sources enter
/// as others leave: a finished sentence's place is taken at once by the next. `done` is called for each source
/// as it finishes, with its index, in any order. What a source gets depends on nothing but itself.
void search(const Transformer& model, const std::vector<std::vector<int32_t>>& sources,
            const SearchOptions& options,
            const std::function<void(size_t index, std::vector<Hypothesis>)>& done);

/// log p of each symbol of each target, its end symbol the last: targets without start and end symbol, sources
/// with end.
std::vector<std::vector<double>> score_targets(const Transformer& model,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const std::vector<std::vector<int32_t>>& targets,
                                               int64_t batch_tokens);

}  // namespace sixfold
