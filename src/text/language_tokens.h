#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The tokens of a tokenizer that name a language, such as ">>de<<". In a model of several languages, such a
/// token stands before each source and selects the target language.
class LanguageTokens {
 public:
  /// Takes time linear in the vocabulary.
  explicit LanguageTokens(const Tokenizer& tokenizer) {
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
      if (tokenizer.is_language_token(id)) ids_.emplace(tokenizer.token_text(id), id);
  }
  /// The token that a source begins with, or an empty text, and the text behind it.
  struct Parts {
    std::string_view token, text;
  };
  Parts split(std::string_view source) const {
    constexpr std::string_view spaces = " \t";
    const size_t begin = source.find_first_not_of(spaces);
    const size_t end =
        begin != source.npos && source.substr(begin).starts_with(">>") ? source.find("<<", begin) : source.npos;
    if (end == source.npos || !ids_.contains(source.substr(begin, end + 2 - begin))) return {{}, source};
    const size_t text = source.find_first_not_of(spaces, end + 2);
    return {source.substr(begin, end + 2 - begin), text == source.npos ? "" : source.substr(text)};
  }
  /// The id of such a token. Throws an input error if the tokenizer has not got it.
  int32_t id(std::string_view token) const {
    const auto found = ids_.find(token);
    require(found != ids_.end(), "the vocabulary has no token {}", token);
    return found->second;
  }

 private:
  std::map<std::string, int32_t, std::less<>> ids_;
};

}  // namespace sixfold
