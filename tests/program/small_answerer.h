#pragma once
#include <string>

#include "program/small_model.h"
#include "tasks/question_answering/config.h"

namespace sixfold {

/// Writes a model that answers questions about texts of the words "a" to "h", fresh from `seed`. It reads 12
/// tokens at once: with a question of one word, 8 words of a text.
inline void write_small_answerer(const std::string& folder, uint64_t seed) {
  write_small_model(folder, seed, true, [](ModelConfig& config) {
    config.decoder_layers = 0;
    config.decoder_start_token = ModelConfig::zero_start;
    config.task = QuestionAnsweringOptions::task_name;
    config.head.kind = OutputHead::span;
    config.context_tokens = 12;
    config.settings = write_options(AnswerSettings{.stride = 4, .max_tokens = 3});
  });
}

}  // namespace sixfold
