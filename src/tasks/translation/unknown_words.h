#pragma once
#include <optional>
#include <span>

#include "tasks/translation/extra_outputs.h"

namespace sixfold {

/// Replaces each word of the translations that has an unknown token by a word of the source: the one that the
/// first unknown token of the word attends to most in a decoder layer, which is that of alignments by default
/// (`ExtraOutputs::layer`), in all heads and over all tokens of the source word together. Tokens around the
/// source do not count.
///
/// A word is what white space separates, without punctuation at its ends, so that punctuation of a translation
/// stays; in scripts without spaces it is the text of the token. Of a source that is cut, and of a word longer
/// than 1024 bytes, it is the beginning. Translations without unknown tokens do not change.
void replace_unknown_words(const ModelRuntime& open, const DecodeWorkspace& decoding,
                           std::span<const ScoredPair> pairs, std::optional<int> layer,
                           const PairContext& common, std::span<Translation> translations);

}  // namespace sixfold
