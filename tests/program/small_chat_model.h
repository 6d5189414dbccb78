#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "program/small_model.h"
#include "tasks/language_model/settings.h"
#include "text/tokenizer_json.h"

namespace sixfold {

/// A tokenizer of byte-level BPE with these control tokens, from id 340.
inline std::shared_ptr<const Tokenizer> chat_tokenizer(const std::vector<std::string>& control) {
  nlohmann::json all = nlohmann::json::parse(read_file(SIXFOLD_TEST_GOLDENS "/causal/gpt2/tokenizer.json"));
  const nlohmann::json plain = all["added_tokens"][0];
  all["added_tokens"] = nlohmann::json::array();
  for (size_t i = 0; i < control.size(); ++i) {
    nlohmann::json token = plain;
    token.update({{"id", 340 + i}, {"content", control[i]}});
    all["added_tokens"].push_back(token);
  }
  const TokenizerJsonSettings settings{.bos = -1, .eos = 340, .size = 340 + static_cast<int>(control.size())};
  return load_tokenizer_json(add_settings(all.dump(), settings, "test"), "test");
}

/// Writes a language model of random weights that reads conversations of ChatML, with the system message "be
/// kind". It reads 256 tokens at once.
inline void write_small_chat_model(const std::string& folder, uint64_t seed, const ConfigChange& change = {}) {
  const auto tokenizer = chat_tokenizer({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  write_small_model(folder, seed, {tokenizer, tokenizer, true}, [&](ModelConfig& config) {
    config.encoder_layers = 0;
    config.tied_embeddings = TiedEmbeddings::decoder;
    config.context_tokens = 256;
    config.task = LanguageModelSettings::task;
    LanguageModelSettings settings;
    settings.text_unit = TextUnit::file;
    settings.chat = {.format = "chatml", .system = "be kind"};
    config.settings = write_options(settings);
    config.decoder_start_token = config.eos;
    config.generation.start_before_text = false;
    config.generation.allow_unk = true;
    if (change) change(config);
  });
}

}  // namespace sixfold
