#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/lines.h"
#include "tasks/kit/task_options.h"
#include "tasks/kit/validation_metrics.h"
#include "tasks/question_answering/settings.h"

namespace sixfold {

/// Questions about texts, and the options of batching.
struct QuestionDataOptions : BatchOptions {
  std::vector<std::string> train, valid;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
  int max_tokens = 384;
};

inline void visit(OptionVisitor& v, QuestionDataOptions& o) {
  v.field("train", o.train,
          "training data: files whose lines are a text, a tab, a question, a tab and an answer that the text "
          "contains, or JSON of SQuAD 1.1 (*.json); each may be gzipped");
  v.field("valid", o.valid, "validation data, given in the same way; empty: no validation");
  v.field("invalid_utf8", o.invalid_utf8,
          "what to do with lines that are not valid UTF-8: error, replace (with U+FFFD) or skip");
  v.field("max_tokens", o.max_tokens,
          "maximum number of tokens that the model reads at once: of a question, a text and up to 3 special "
          "tokens; longer "
          "texts are read in windows",
          between(8, 1 << 20));
  visit(v, static_cast<BatchOptions&>(o));
}

struct QuestionValidationOptions : MetricValidationOptions {
  QuestionValidationOptions(MetricTable table = metric_table())
      : MetricValidationOptions(LineContent::answer, "squad_f1", table) {}
};

/// The complete config of a run that trains a model to answer questions about texts.
struct QuestionAnsweringOptions : TaskOptions<QuestionDataOptions, QuestionValidationOptions> {
  static constexpr std::string_view task_name = "question_answering";
  std::string task = std::string(task_name);
  AnswerSettings answers;

  QuestionAnsweringOptions();
};

inline void visit(OptionVisitor& v, QuestionAnsweringOptions& o) {
  v.field("task", o.task, "what is trained: question_answering; without this key, translation");
  v.group("answers", o.answers, "how texts are read; saved with the model");
  visit(v, static_cast<TaskOptions<QuestionDataOptions, QuestionValidationOptions>&>(o));
}

/// Reads the options, and sets those that are the same for all such models: there is no decoder. Throws an
/// input error that begins with the place of the key if a key does not apply to such models, or as `validate`.
QuestionAnsweringOptions question_answering_options_of(OptionNode root, const std::string& where);

/// Throws an input error that names the key if a value is out of range, there is no training data, no limit
/// ends the training, or options contradict each other.
void validate(const QuestionAnsweringOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each.
std::vector<std::string> advice_for(const QuestionAnsweringOptions& options);

}  // namespace sixfold
