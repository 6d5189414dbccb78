#include "text/tokenizer.h"

#include "base/hash.h"

namespace sixfold {

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
