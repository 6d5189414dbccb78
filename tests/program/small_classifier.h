#pragma once
#include <string>

#include "program/small_model.h"
#include "tasks/classification/settings.h"

namespace sixfold {

/// Writes a classifier of the words "a" to "h" with three labels, fresh from `seed`. It reads 6 tokens.
inline void write_small_classifier(const std::string& folder, uint64_t seed) {
  write_small_model(folder, seed, true, [](ModelConfig& config) {
    config.decoder_layers = 0;
    config.decoder_start_token = ModelConfig::zero_start;
    config.task = ClassificationSettings::task;
    config.head = {OutputHead::classes, 3, Pooling::mean};
    config.settings = write_options(ClassificationSettings{{"bad", "fair", "good"}});
    config.context_tokens = 6;
  });
}

}  // namespace sixfold
