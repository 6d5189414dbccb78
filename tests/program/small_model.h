#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "model_folder/model_folder.h"
#include "text/tokenizers.h"

namespace sixfold {

using ConfigChange = std::function<void(ModelConfig&)>;

/// Writes a model folder of small layers, fresh from `seed`, with a changed config.
inline void write_small_model(const std::string& folder, uint64_t seed, const Tokenizers& tokenizers,
                              const ConfigChange& change = {}) {
  const bool joint = tokenizers.joint;
  ModelConfig config;
  config.task = "translation";
  config.d_model = 8, config.d_ff = 16, config.heads = 2;
  config.encoder_layers = 1, config.decoder_layers = 2;
  config.tied_embeddings = joint ? TiedEmbeddings::all : TiedEmbeddings::decoder;
  config.source_vocab = config.target_vocab = tokenizers.target->vocab_size();
  config.source_tokenizer_hash = tokenizers.source->hash();
  config.target_tokenizer_hash = tokenizers.target->hash();
  config.unk = tokenizers.target->unk(), config.bos = tokenizers.target->bos();
  config.eos = tokenizers.target->eos();
  config.decoder_start_token = tokenizers.target->bos();
  config.generation.length_offset = 5;
  if (change) change(config);
  std::filesystem::create_directories(folder);
  save_model(Transformer(config, make_backend({.device = "reference"}), DType::f32, seed), folder);
  save_tokenizers(tokenizers, folder);
}

/// One of a few hundred weights that knows the words "a" to "h".
inline void write_small_model(const std::string& folder, uint64_t seed, bool joint = true,
                              const ConfigChange& change = {}) {
  const std::vector<std::string> words{"a b c d e f g h"};
  TokenizerOptions options;
  options.kind = TokenizerKind::whitespace;
  options.joint = joint;
  write_small_model(folder, seed, make_tokenizers(options, words, words), change);
}

/// One whose vocabulary has byte fallback and that puts out nothing but the bytes of "A", line ends and NUL.
inline void write_byte_model(const std::string& folder, uint64_t seed) {
  const std::vector<std::string> words{"a b c d e f g h"};
  TokenizerOptions options;
  options.byte_fallback = true;
  options.vocab_size = 268;
  const Tokenizers tokenizers = make_tokenizers(options, words, words);
  std::vector<int> banned;
  for (int id = 0; id < tokenizers.target->vocab_size(); ++id) {
    const std::string piece = tokenizers.target->token_text(id);
    const bool wanted = piece == "<0x41>" || piece == "<0x0A>" || piece == "<0x0D>" || piece == "<0x00>";
    if (!wanted && id != tokenizers.target->eos()) banned.push_back(id);
  }
  write_small_model(folder, seed, tokenizers,
                    [&](ModelConfig& config) { config.generation.suppress_tokens = banned; });
}

/// Gives all weights of a model folder a value that is finite, but too large for its products.
inline void damage_weights(const std::string& folder) {
  const auto backend = make_backend({.device = "reference"});
  Transformer model(load_model_config(folder), backend, DType::f32, 3);
  for (Parameter& parameter : model.parameters())
    parameter.tensor.copy_from(*backend,
                               std::vector<double>(static_cast<size_t>(parameter.tensor.size()), 1e38));
  save_model(model, folder);
}

}  // namespace sixfold
