#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "infer/loaded_model.h"
#include "infer/translation.h"

namespace sixfold {

/// A source and its translation, as ids.
struct ScoredPair {
  std::vector<int32_t> source;  ///< with the end token; empty for a line without visible characters
  std::vector<int32_t> target;  ///< without start token and end token
  bool ends = true;             ///< whether the end token follows the target
};

/// Adds the extra outputs of `pairs[i]` to `translations[i]`. The model processes all pairs in one batch.
/// `prefix`: number of tokens at the start of each source that belong to no word (a language token).
void add_extra_outputs(const LoadedModel& open, const DecodeWorkspace& decoding,
                       std::span<const ScoredPair> pairs, const ExtraOutputs& extra, int prefix,
                       std::span<Translation> translations);

/// Returns for each token the index, from 0, of the word that it is part of. Words are separated by white space
/// in the decoded text. Tokens before the first word get -1.
std::vector<int> words_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens);

}  // namespace sixfold
