#include "model_folder/binding.h"

#include <filesystem>

#include "base/error.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"

namespace sixfold {
namespace {

bool has_tokenizer_file(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (is_model_tokenizer(entry.path().filename().string())) return true;
  return false;
}

}  // namespace

void bind_tokenizers(ModelConfig& config, const Tokenizers& tokenizers) {
  const Tokenizer &source = *tokenizers.source, &target = *tokenizers.target;
  const std::string source_hash = config.source_is_tokens() ? source.hash() : "";
  if (config.source_tokenizer_hash == source_hash && config.target_tokenizer_hash == target.hash()) return;
  config.source_vocab = config.source_is_tokens() ? source.vocab_size() : ModelConfig::pixel_values;
  config.target_vocab = target.vocab_size();
  config.unk = target.unk();
  config.bos = target.bos();
  config.eos = target.eos();
  config.source_tokenizer_hash = source_hash;
  config.target_tokenizer_hash = target.hash();
}

void write_model_folder(const std::string& folder, const Transformer& model, const Tokenizers& tokenizers,
                        const std::function<void(const std::string&)>& add) {
  write_model_folder(folder, model, [&](const std::string& path) {
    save_tokenizers(tokenizers, path);
    if (add) add(path);
  });
}

TextSide target_side_of(const ModelConfig& config) {
  return config.continues_text() ? TextSide::exact : TextSide::target;
}

Tokenizers load_text_tokenizers(const std::string& folder) {
  const ModelConfig config = load_model_config(folder);
  require(config.has_tokenizer(), "{}: has no tokenizer", folder);
  return load_tokenizers(folder, target_side_of(config));
}

Tokenizers load_bound_tokenizers(const std::string& folder, const ModelConfig& config) {
  if (!config.has_tokens() || (!config.has_tokenizer() && !has_tokenizer_file(folder))) return {};
  Tokenizers tokenizers = load_tokenizers(folder, target_side_of(config));
  require_bound(tokenizers, folder, config);
  return tokenizers;
}

void require_bound(const Tokenizers& tokenizers, const std::string& folder, const ModelConfig& config) {
  const auto check = [&](const char* side, const Tokenizer& tokenizer, const std::string& bound, int vocab) {
    require(bound == tokenizer.hash() && vocab == tokenizer.vocab_size(),
            "{}: the {} tokenizer is not the one the model was trained with (its hash is {}, config.json has "
            "{}_tokenizer_hash '{}'); restore the model's own tokenizer",
            folder, side, tokenizer.hash(), side, bound);
  };
  if (config.source_is_tokens())
    check("source", *tokenizers.source, config.source_tokenizer_hash, config.source_vocab);
  check("target", *tokenizers.target, config.target_tokenizer_hash, config.target_vocab);
}

}  // namespace sixfold
