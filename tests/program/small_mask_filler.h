#pragma once
#include <string>

#include "program/small_model.h"

namespace sixfold {

/// Writes a masked language model of the words "a" to "h", fresh from `seed`. It reads 8 tokens at once.
inline void write_small_mask_filler(const std::string& folder, uint64_t seed) {
  write_small_model(folder, seed, true, [](ModelConfig& config) {
    config.decoder_layers = 0;
    config.decoder_start_token = ModelConfig::zero_start;
    config.context_tokens = 8;
    config.task = "masked_language_model";
  });
}

}  // namespace sixfold
