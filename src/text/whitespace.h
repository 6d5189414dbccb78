#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// The tokenizer of text that is segmented already: one symbol between two spaces. `vocabulary` has one symbol
/// on each line, `<unk>`, `<s>` and `</s>` among them; the line's number, from 0, is the id. `origin` names it
/// in errors.
///
/// `decode` puts spaces between symbols, but joins what the segmentation had parted: "new@@ er" gives "newer",
/// and where the vocabulary marks the beginnings of words as SentencePiece does, "▁new er ▁house" gives "newer
/// house".
std::shared_ptr<const Tokenizer> load_whitespace(std::string_view vocabulary, const std::string& origin);

/// The vocabulary of all sentences of `texts`, as `load_whitespace` reads it: the special symbols, those the
/// options name, then the most frequent, at most `vocab_size` (0 for all), none rarer than `minimum_count`.
/// Equally frequent ones stand in the order of their bytes. Throws when there is no text, or no room for what
/// must be there.
std::string build_whitespace_vocabulary(const TokenizerOptions& options, const std::vector<TextReader>& texts);

}  // namespace sixfold
