#include "translate/binding.h"

#include "base/error.h"
#include "base/file.h"
#include "model/model_dir.h"
#include "model/ownership.h"

namespace sixfold {

void bind_tokenizers(ModelConfig& config, const Tokenizers& tokenizers) {
  const Tokenizer &source = *tokenizers.source, &target = *tokenizers.target;
  config.source_vocab = source.vocab_size();
  config.target_vocab = target.vocab_size();
  config.unk = target.unk();
  config.bos = target.bos();
  config.eos = target.eos();
  config.source_tokenizer_hash = source.hash();
  config.target_tokenizer_hash = target.hash();
}

void write_model_folder(const std::string& folder, const Transformer& model, const Tokenizers& tokenizers,
                        const std::function<void(const std::string&)>& add) {
  AtomicDirectory directory(folder, is_checkpoint_file);
  save_model(model, directory.path());
  save_tokenizers(tokenizers, directory.path());
  if (add) add(directory.path());
  directory.commit();
}

Tokenizers load_bound_tokenizers(const std::string& folder, const ModelConfig& config) {
  Tokenizers tokenizers = load_tokenizers(folder);
  const auto check = [&](const char* side, const Tokenizer& tokenizer, const std::string& bound, int vocab) {
    require(
        bound == tokenizer.hash() && vocab == tokenizer.vocab_size(),
        "{}: the {} tokenizer is not the one that the model was trained with: its hash is {}, config.json has "
        "{}_tokenizer_hash '{}'; put the model's own tokenizer back",
        folder, side, tokenizer.hash(), side, bound);
  };
  check("source", *tokenizers.source, config.source_tokenizer_hash, config.source_vocab);
  check("target", *tokenizers.target, config.target_tokenizer_hash, config.target_vocab);
  return tokenizers;
}

}  // namespace sixfold
