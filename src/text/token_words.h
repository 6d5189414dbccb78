#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// Returns for each token the index, from 0, of the word that it is part of. Words are separated by white space
/// in the decoded text. Tokens before the first word get -1. `shows_unknown`: in the text unknown tokens are
/// words, or parts of words, whatever the tokenizer makes of them.
std::vector<int> words_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                 bool shows_unknown = false);

/// The same with the parts of words that `word_parts` finds in the decoded text. A token that is in several
/// gets the last one.
std::vector<int> parts_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                 bool shows_unknown = false);

/// For each end of a token, in ascending order, the index of the last range that begins before it; -1 if none
/// does.
std::vector<int> ranges_at(std::span<const size_t> ends, std::span<const TextRange> ranges);

}  // namespace sixfold
