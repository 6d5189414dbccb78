#pragma once
#include <string>

#include "program/small_model.h"

namespace sixfold {

/// Writes a model that captions grey images of 4 x 4 pixels in 9 patches with the words "a" to "h", fresh from
/// `seed`.
inline void write_small_captioner(const std::string& folder, uint64_t seed, bool class_token = false) {
  write_small_model(folder, seed, true, [class_token](ModelConfig& config) {
    config.task = "image_captioning";
    config.image = {.height = 4, .width = 4, .channels = 1, .patch = 2, .stride = 1};
    config.image.class_token = class_token;
    config.source_vocab = ModelConfig::pixel_values;
    config.source_tokenizer_hash = "";
    config.tied_embeddings = TiedEmbeddings::decoder;
    config.positions = Positions::learned;
    config.generation.length_factor = 0;
    config.generation.length_offset = 7;
  });
}

}  // namespace sixfold
