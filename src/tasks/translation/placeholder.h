#pragma once
#include <functional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// Finds a word that a model copies unchanged into its translations, such as a name. `TextTranslator` uses it
/// as a placeholder. The candidates are a few fixed words and, if the model copies none of them, words of both
/// vocabularies. Each candidate is inserted into lines of random words of the source vocabulary; at least half
/// of their translations must contain it exactly once. Returns an empty string if there is no such word. The
/// result depends only on the model. Takes the time of translating at most about 200 short sentences.
std::string find_placeholder(
    const Tokenizer& source, const Tokenizer& target,
    const std::function<std::vector<std::string>(const std::vector<std::string>& lines)>& translate);

}  // namespace sixfold
