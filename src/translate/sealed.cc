#include "translate/sealed.h"

#include "base/error.h"

namespace sixfold {

Tokenizers load_sealed_tokenizers(const std::string& folder, const ModelConfig& config) {
  Tokenizers tokenizers = load_tokenizers(folder);
  const auto check = [&](const char* side, const Tokenizer& tokenizer, const std::string& sealed, int vocab) {
    require(
        sealed == tokenizer.hash() && vocab == tokenizer.vocab_size(),
        "{}: the {} tokenizer is not the one that the model was trained with: its hash is {}, config.json has "
        "{}_tokenizer_hash '{}'; put the model's own tokenizer back",
        folder, side, tokenizer.hash(), side, sealed);
  };
  check("source", *tokenizers.source, config.source_tokenizer_hash, config.source_vocab);
  check("target", *tokenizers.target, config.target_tokenizer_hash, config.target_vocab);
  return tokenizers;
}

}  // namespace sixfold
