#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "model/model_dir.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Writes a model folder of a few hundred weights, fresh from `seed`, that knows the words "a" to "h".
inline void write_small_model(const std::string& folder, uint64_t seed, bool joint = true) {
  const std::vector<std::string> words{"a b c d e f g h"};
  TokenizerOptions options;
  options.kind = TokenizerKind::whitespace;
  options.joint = joint;
  const Tokenizers tokenizers = make_tokenizers(options, words, words);
  ModelConfig config;
  config.d_model = 8, config.d_ff = 16, config.heads = 2;
  config.encoder_layers = 1, config.decoder_layers = 2;
  config.tied_embeddings = joint ? TiedEmbeddings::all : TiedEmbeddings::decoder;
  config.source_vocab = config.target_vocab = tokenizers.target->vocab_size();
  config.source_tokenizer_hash = tokenizers.source->hash();
  config.target_tokenizer_hash = tokenizers.target->hash();
  config.unk = tokenizers.target->unk(), config.bos = tokenizers.target->bos();
  config.eos = tokenizers.target->eos();
  config.search.decoder_start = tokenizers.target->bos();
  config.search.length_offset = 5;
  std::filesystem::create_directories(folder);
  save_model(Transformer(config, make_reference_backend(), DType::f32, seed), folder);
  save_tokenizers(tokenizers, folder);
}

}  // namespace sixfold
