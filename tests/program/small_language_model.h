#pragma once
#include <string>

#include "program/small_model.h"
#include "tasks/language_model/settings.h"

namespace sixfold {

/// Writes a language model of the characters "a" to "h", the space and the line feed, fresh from `seed`. It
/// reads 12 tokens at once.
inline void write_small_language_model(const std::string& folder, uint64_t seed,
                                       const ConfigChange& change = {}) {
  const std::vector<std::string> text{"a b c d e f g h"};
  TokenizerOptions options;
  options.kind = TokenizerKind::characters;
  const Tokenizers tokenizers = make_tokenizers(options, text, {});
  write_small_model(folder, seed, tokenizers, [&](ModelConfig& config) {
    config.encoder_layers = 0;
    config.tied_embeddings = TiedEmbeddings::decoder;
    config.context_tokens = 12;
    config.task = LanguageModelSettings::task;
    config.generation.suppress_tokens = {config.eos};
    if (change) change(config);
  });
}

/// A change of its config: its texts are lines, which end.
inline void reads_lines(ModelConfig& config) {
  config.settings = write_options(LanguageModelSettings{TextUnit::line});
  config.generation.suppress_tokens = {};
}

}  // namespace sixfold
