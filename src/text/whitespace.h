#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// Makes a tokenizer for text that is already segmented: tokens are separated by white space. `vocabulary` has
/// one token on each line, including `<unk>` and `</s>` and perhaps `<s>`; the number of the line, from 0, is
/// the id. `origin` names it in errors.
///
/// `decode` puts spaces between tokens, but joins words that the segmentation had split: "new@@ er" gives
/// "newer". If the vocabulary marks beginnings of words as SentencePiece does, "▁new er ▁house" gives "newer
/// house".
std::shared_ptr<const Tokenizer> load_whitespace(std::string_view vocabulary, const std::string& origin);

/// Builds the vocabulary of all sentences of `texts` in the format of `load_whitespace`: the special tokens,
/// the user-defined ones of the options, then the most frequent tokens, at most `vocab_size` in all (0: no
/// limit), none that occurs less than `minimum_count` times. Equally frequent tokens are in the order of their
/// bytes. Throws an input error if there is no text, or if `vocab_size` is too small for the special and
/// user-defined tokens.
std::string build_whitespace_vocabulary(const TokenizerOptions& options, const std::vector<TextReader>& texts);

}  // namespace sixfold
