#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// Returns for each token the index, from 0, of the word that it is part of. Words are separated by white space
/// in the decoded text. Tokens before the first word get -1. `shows_unknown`: in the text unknown tokens are
/// words, or parts of words, whatever the tokenizer makes of them.
std::vector<int> words_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                 bool shows_unknown = false);

/// The words that tokens are part of.
struct TokenWords {
  std::vector<int> words;  ///< for each token, the index of its word; of several words the last; -1: of none
  /// The words of tokens that are part of several: each word but the last, with the last.
  std::vector<std::pair<int, int>> shared = {};
};

/// Assigns tokens to ranges of their text by their places in it. Both are in ascending order.
TokenWords words_of_places(std::span<const TextRange> tokens, std::span<const TextRange> ranges);

/// The parts of words (`word_parts`) of a text that tokens are part of. `shown`: the text, which is that of the
/// tokens, except that unknown tokens may be replaced in it.
TokenWords parts_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens, bool shows_unknown,
                           std::string_view shown);

}  // namespace sixfold
