#include "tasks/masked_language_model/config.h"

#include "base/error.h"
#include "tasks/kit/encoder_task.h"

namespace sixfold {

MaskedLanguageModelOptions::MaskedLanguageModelOptions() {
  set_encoder_defaults(*this);
  data.unit = TextUnit::line;
}

MaskedLanguageModelOptions masked_language_model_options_of(OptionNode root, const std::string& where) {
  return read_encoder_options<MaskedLanguageModelOptions>(std::move(root), where, "a masked language model");
}

void validate(const MaskedLanguageModelOptions& o) {
  require_encoder_only(o.model, "a masked language model");
  check_frozen_parts(o.start, "a masked language model");
  validate_groups(o, "a text file");
  require(
      !o.model.limits_length() || o.model.max_positions >= o.data.block_tokens + 2,
      "model.max_positions is {}, but data.block_tokens is {}; there must be a position for each token, and "
      "for the start and the end",
      o.model.max_positions, o.data.block_tokens);
}

std::vector<std::string> advice_for(const MaskedLanguageModelOptions& o) {
  return advice_on_encoder(o, MaskedLanguageModelOptions(), "a masked language model generates no text");
}

}  // namespace sixfold
