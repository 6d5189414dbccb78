#pragma once
#include <functional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// Finds a word that a model repeats in its translations as it is, such as a name: for `TextTranslator`. Some
/// words are tried, and if none of them will do, words that both vocabularies have: in lines of words of the
/// source's vocabulary, where at least half of the translations must have the word once. Returns an empty
/// string if there is none. The result depends only on the model. Takes the time of at most some 200 short
/// sentences.
std::string find_placeholder(
    const Tokenizer& source, const Tokenizer& target,
    const std::function<std::vector<std::string>(const std::vector<std::string>& lines)>& translate);

}  // namespace sixfold
