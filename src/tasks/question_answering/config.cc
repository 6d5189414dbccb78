#include "tasks/question_answering/config.h"

#include "base/error.h"
#include "tasks/kit/encoder_task.h"

namespace sixfold {

QuestionAnsweringOptions::QuestionAnsweringOptions() {
  normalize_alike(tokenizer);
  set_encoder_defaults(model);
  tokenizer.byte_fallback = true;
  train.label_smoothing = 0;
}

QuestionAnsweringOptions question_answering_options_of(OptionNode root, const std::string& where) {
  refuse_keys_of_a_decoder(root, "a model that answers questions");
  QuestionAnsweringOptions options;
  read_options(root, options);
  options.model.decoder_layers = 0;  // a preset has a decoder
  normalize_alike(options.tokenizer);
  validate_at(options, where);
  return options;
}

void validate(const QuestionAnsweringOptions& o) {
  require_encoder_only(o.model, "a model that answers questions");
  check_frozen_parts(o.start, "a model that answers questions");
  validate_groups(o, "a file of texts with questions and answers");
  require(o.task == QuestionAnsweringOptions::task_name, "task: is '{}', expected {}", o.task,
          QuestionAnsweringOptions::task_name);
  require(!o.model.limits_length() || o.model.max_positions >= o.data.max_tokens,
          "model.max_positions: is {}, but data.max_tokens is {}; there must be a position for each token",
          o.model.max_positions, o.data.max_tokens);
}

std::vector<std::string> advice_for(const QuestionAnsweringOptions& o) {
  return advice_on_encoder(o, QuestionAnsweringOptions(), "answers are parts of the texts");
}

}  // namespace sixfold
