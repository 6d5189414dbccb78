#pragma once
#include <optional>
#include <span>

#include "tasks/translation/extra_outputs.h"

namespace sixfold {

/// Replaces each word of the translations that has an unknown token by a word of the source: the one that the
/// first unknown token of the word attends to most, summed over all heads of a decoder layer and over all
/// tokens of the source word. `layer`: as `ExtraOutputs::layer`. Tokens around the source do not count.
///
/// Words are separated by white space, and have no punctuation at their ends, so that the punctuation of a
/// translation stays. In scripts without spaces a word is the text of one token. Only the beginning of a word
/// is used if the source was cut within it or if it has more than 1024 bytes. Translations without unknown
/// tokens do not change.
void replace_unknown_words(const ModelRuntime& runtime, const DecodeWorkspace& decoding,
                           std::span<const ScoredPair> pairs, std::optional<int> layer,
                           const PairContext& common, std::span<Translation> translations);

}  // namespace sixfold
