#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// The tokens such as ">>de<<" of a tokenizer, one of which stands before each source of a model of several
/// languages and says into which it is translated. The tokenizer must outlive the object.
class LanguageTokens {
 public:
  /// Takes time linear in the vocabulary.
  explicit LanguageTokens(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
      if (tokenizer.is_language_token(id)) ids_.emplace(tokenizer.token_text(id), id);
  }
  /// The ids of a source behind such a token, ">>de<<". An unknown token is left out.
  std::vector<int32_t> encode(std::string_view token, std::string_view text) const {
    std::vector<int32_t> ids = tokenizer_.encode(text);
    if (const auto found = ids_.find(token); found != ids_.end()) ids.insert(ids.begin(), found->second);
    return ids;
  }
  /// The ids of a source that begins with such a token and a space.
  std::vector<int32_t> encode(std::string_view text) const {
    const size_t end = text.find(' ');
    if (end == text.npos || !ids_.contains(text.substr(0, end))) return tokenizer_.encode(text);
    return encode(text.substr(0, end), text.substr(end + 1));
  }

 private:
  const Tokenizer& tokenizer_;
  std::map<std::string, int32_t, std::less<>> ids_;
};

}  // namespace sixfold
