#include "tasks/masked_language_model/config.h"

#include "base/error.h"
#include "tasks/kit/encoder_task.h"

namespace sixfold {

MaskedLanguageModelOptions::MaskedLanguageModelOptions() {
  normalize_alike(tokenizer);
  set_encoder_defaults(model);
  tokenizer.byte_fallback = true;
  train.label_smoothing = 0;
  data.unit = TextUnit::line;
}

MaskedLanguageModelOptions masked_language_model_options_of(OptionNode root, const std::string& where) {
  refuse_keys_of_a_decoder(root, "a masked language model");
  MaskedLanguageModelOptions options;
  read_options(root, options);
  options.model.decoder_layers = 0;  // a preset has a decoder
  normalize_alike(options.tokenizer);
  validate_at(options, where);
  return options;
}

void validate(const MaskedLanguageModelOptions& o) {
  require_encoder_only(o.model, "a masked language model");
  check_frozen_parts(o.start, "a masked language model");
  validate_groups(o, "a text file");
  require(o.task == MaskedLanguageModelOptions::task_name, "task: is '{}', expected {}", o.task,
          MaskedLanguageModelOptions::task_name);
  require(
      !o.model.limits_length() || o.model.max_positions >= o.data.block_tokens + 2,
      "model.max_positions: is {}, but data.block_tokens is {}; there must be a position for each token, and "
      "for the start and the end",
      o.model.max_positions, o.data.block_tokens);
}

std::vector<std::string> advice_for(const MaskedLanguageModelOptions& o) {
  return advice_on_encoder(o, MaskedLanguageModelOptions(), "a masked language model generates no text");
}

}  // namespace sixfold
