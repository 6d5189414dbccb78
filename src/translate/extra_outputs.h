#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "translate/loaded_model.h"
#include "translate/translation.h"

namespace sixfold {

/// A source and what was said for it, as ids.
struct ScoredPair {
  std::vector<int32_t> source;  ///< with end symbol
  std::vector<int32_t> target;  ///< without start and end symbol
  bool ends = true;             ///< the end symbol follows the target
};

/// Adds to `translations[i]` what the details ask for of `pairs[i]`: the model runs over the finished targets,
/// all at once. `prefix`: the pieces at the start of each source that are no words of it (a language symbol's).
void add_extra_outputs(const LoadedModel& open, DecodeWorkspace& decoding, std::span<const ScoredPair> pairs,
                       const ExtraOutputs& details, int prefix, std::span<Translation> translations);

/// For each of the pieces the word that it is part of, from 0: words are what white space parts in the text
/// that the pieces make. -1 for what comes before any.
std::vector<int> words_of_pieces(const Tokenizer& tokenizer, std::span<const int32_t> pieces);

}  // namespace sixfold
