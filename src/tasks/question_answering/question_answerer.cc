#include "tasks/question_answering/question_answerer.h"

#include <cmath>
#include <utility>

#include "base/options.h"
#include "data/lines.h"
#include "data/question_reader.h"
#include "runtime/model_runtime.h"
#include "tasks/question_answering/answer_reader.h"
#include "tasks/question_answering/config.h"
#include "text/utf8.h"

namespace sixfold {

void visit(OptionVisitor& v, AnswerOptions& o) {
  v.field("max_answer_tokens", o.max_answer_tokens, "maximum number of tokens of an answer [the model's]",
          between(1, 1 << 20));
  v.field("stride", o.stride, "tokens from one window of a long text to the next [the model's]",
          between(1, 1 << 20));
}
namespace {

std::optional<std::string> fault_of(const std::string& text, const char* name) {
  if (const auto fault = fault_of_text(text)) return fmt::format("the {} is not valid text: {}", name, *fault);
  if (!has_visible_character(text)) return fmt::format("the {} is empty", name);
  return std::nullopt;
}

AnswerReader answer_reader(const ModelRuntime& model, const AnswerOptions& options) {
  check_ranges(options);
  const auto defaults = settings_of<AnswerSettings>(model.config());
  const int stride = options.stride.value_or(defaults.stride),
            max_answer_tokens = options.max_answer_tokens.value_or(defaults.max_tokens);
  return {{.bos = model.source().bos(),
           .eos = model.source().eos(),
           .tokens = model.config().context_tokens,
           .stride = stride,
           .separators = defaults.separators},
          model.batch_tokens(),
          max_answer_tokens};
}

/// Reads all windows, in blocks of batches: a long text may have as many windows as tokens.
void read_all(ModelRuntime& model, AnswerReader& reader, const std::stop_token& cancel) {
  const size_t batches_per_block = 16 * static_cast<size_t>(model.engine().threads());
  for (std::vector<Batch> batches; !(batches = reader.next_batches(batches_per_block)).empty();)
    model.run(batches.size(), cancel, [&](size_t i, const DecodeWorkspace& workspace) {
      Context context(workspace.backend, workspace.arena);
      reader.read(workspace.model, batches[i], context);
    });
}

void finish(const std::optional<FoundSpan>& found, const TextQuestion& question, TextAnswer& result) {
  if (!found) {
    result.error = "the tokenizer finds nothing in the text that could be an answer";
    return;
  }
  if (!std::isfinite(found->probability)) {
    result.error = "the model's scores are not finite: its weights are damaged, or too large";
    return;
  }
  result.begin = found->begin, result.end = found->end;
  result.text = question.text.substr(found->begin, found->end - found->begin);
  result.probability = found->probability;
}

}  // namespace

QuestionAnswerer::QuestionAnswerer(std::shared_ptr<ModelRuntime> opened) : Predictor(std::move(opened)) {
  require_task(config(), AnswerSettings::network, model().folder());
  settings_of<AnswerSettings>(config());
  model().source();  // throws if there is no tokenizer
}

std::vector<TextAnswer> QuestionAnswerer::answers(std::span<const TextQuestion> questions,
                                                  const AnswerOptions& options) const {
  const Tokenizer& tokenizer = model().source();
  AnswerReader reader = answer_reader(model(), options);
  std::vector<TextAnswer> results(questions.size());
  std::vector<size_t> valid_questions;  // indices of the questions without an error
  std::shared_ptr<const LocatedText> text;
  for (size_t i = 0; i < questions.size(); ++i) {
    const auto& [context, question] = questions[i];
    TextAnswer& result = results[i];
    result.error = fault_of(context, "text");
    if (!result.error) result.error = fault_of(question, "question");
    if (result.error) continue;
    if (!text || text->text != context)
      text = std::make_shared<LocatedText>(context, tokenizer.locate(without_line_ends(context)));
    result.tokens_cut = static_cast<size_t>(reader.add(text, tokenizer.encode(without_line_ends(question))));
    valid_questions.push_back(i);
  }
  read_all(model(), reader, options.cancel);
  for (size_t k = 0; k < valid_questions.size(); ++k)
    finish(reader.answer(k), questions[valid_questions[k]], results[valid_questions[k]]);
  return results;
}

}  // namespace sixfold
