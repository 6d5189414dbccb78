#include "text/tokenizer.h"

#include "base/hash.h"
#include "text/utf8.h"

namespace sixfold {

TextReader text_reader(std::span<const std::string> sentences) {
  return [sentences](const auto& use) {
    for (const std::string& sentence : sentences) use(sentence);
  };
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const { return one_line(decode_pieces(ids)); }

std::vector<std::string> Tokenizer::language_symbols() const {
  std::vector<std::string> symbols;
  for (int32_t id = 0; id < vocab_size(); ++id) {
    const std::string symbol = piece(id);
    if (symbol.size() > 4 && symbol.starts_with(">>") && symbol.ends_with("<<")) symbols.push_back(symbol);
  }
  return symbols;
}

std::string Tokenizer::hash() const { return hash_hex(serialized()); }

}  // namespace sixfold
