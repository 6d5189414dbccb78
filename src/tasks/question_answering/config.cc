#include "tasks/question_answering/config.h"

#include "base/error.h"
#include "tasks/kit/encoder_task.h"

namespace sixfold {

QuestionAnsweringOptions::QuestionAnsweringOptions() { set_encoder_defaults(*this); }

QuestionAnsweringOptions question_answering_options_of(OptionNode root, const std::string& where) {
  return read_encoder_options<QuestionAnsweringOptions>(std::move(root), where,
                                                        "a model that answers questions");
}

void validate(const QuestionAnsweringOptions& o) {
  require_encoder_only(o.model, "a model that answers questions");
  check_frozen_parts(o.start, "a model that answers questions");
  validate_groups(o, "a file of texts with questions and answers");
  require(o.train.r_drop == 0,
          "train.r_drop is not supported for a model that answers questions; leave it out");
  require(o.teacher.model.empty(),
          "teacher.model is not supported for a model that answers questions; leave it out");
  require(!o.model.limits_length() || o.model.max_positions >= o.data.max_tokens,
          "model.max_positions is {}, but data.max_tokens is {}; there must be a position for each token",
          o.model.max_positions, o.data.max_tokens);
}

std::vector<std::string> advice_for(const QuestionAnsweringOptions& o) {
  std::vector<std::string> advice =
      advice_on_encoder(o, QuestionAnsweringOptions(), "answers are parts of the texts");
  if (const auto start = start_config(o.start.model); start &&
                                                      start->task == QuestionAnsweringOptions::task_name &&
                                                      o.answers.separators != AnswerSettings().separators)
    advice.emplace_back("answers.separators has no effect together with start.model, whose value is used");
  return advice;
}

}  // namespace sixfold
