#include "text/tokenizer.h"

#include "base/hash.h"
#include "text/utf8.h"

namespace sixfold {

TextReader text_reader(std::span<const std::string> sentences) {
  return [sentences](const auto& use) {
    for (const std::string& sentence : sentences) use(sentence);
  };
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const { return one_line(decode_tokens(ids)); }

std::vector<std::string> Tokenizer::language_tokens() const {
  std::vector<std::string> tokens;
  for (int32_t id = 0; id < vocab_size(); ++id) {
    const std::string token = token_text(id);
    if (token.size() > 4 && token.starts_with(">>") && token.ends_with("<<")) tokens.push_back(token);
  }
  return tokens;
}

std::string Tokenizer::hash() const { return hash_hex(serialized()); }

}  // namespace sixfold
