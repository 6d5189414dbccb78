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

}  // namespace sixfold
