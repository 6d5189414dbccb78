#pragma once
#include <string>

#include "program/small_model.h"
#include "tasks/embedding/settings.h"

namespace sixfold {

/// Writes a model of embeddings of the words "a" to "h", fresh from `seed`. It reads 6 tokens.
inline void write_small_embedder(const std::string& folder, uint64_t seed, bool normalize = true,
                                 const ConfigChange& change = {}) {
  write_small_model(folder, seed, true, [&](ModelConfig& config) {
    config.decoder_layers = 0;
    config.decoder_start_token = ModelConfig::zero_start;
    config.task = EmbeddingSettings::task;
    config.head.kind = OutputHead::embedding;
    config.head.pooling = Pooling::mean;
    config.settings = write_options(EmbeddingSettings{.normalize = normalize});
    config.context_tokens = 6;
    if (change) change(config);
  });
}

/// Gives all weights of a model folder the value zero: all embeddings are zero.
inline void zero_weights(const std::string& folder) {
  const auto backend = make_backend({.device = "reference"});
  Transformer model(load_model_config(folder), backend, DType::f32, 3);
  for (Parameter& parameter : model.parameters())
    parameter.tensor.copy_from(*backend, std::vector<double>(static_cast<size_t>(parameter.tensor.size()), 0));
  save_model(model, folder);
}

}  // namespace sixfold
