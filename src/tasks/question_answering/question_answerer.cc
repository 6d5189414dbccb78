#include "tasks/question_answering/question_answerer.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/threads.h"
#include "data/lines.h"
#include "data/question_reader.h"
#include "runtime/engine.h"
#include "runtime/loaded_model.h"
#include "tasks/question_answering/answer_reader.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

std::optional<std::string> fault_of(const std::string& text, const char* name) {
  if (const auto fault = fault_of_text(text)) return fmt::format("the {} is not valid text: {}", name, *fault);
  if (!has_visible_character(text)) return fmt::format("the {} is empty", name);
  return std::nullopt;
}

}  // namespace

struct QuestionAnswerer::Parts {
  LoadedModel open;
  Engine engine;

  Parts(const std::string& folder, int threads, WeightType type)
      : open(folder, type), engine(threads, [this] { return open.workspace(); }) {
    require_answers_questions(open.config(), folder);
  }

  AnswerReader reader(const AnswerOptions& options) const {
    const AnswerConfig& defaults = open.config().answers;
    const int stride = options.stride.value_or(defaults.stride),
              most = options.max_answer_tokens.value_or(defaults.max_tokens);
    require(stride >= 1, "stride is {}; it must be at least 1", stride);
    require(most >= 1, "max_answer_tokens is {}; it must be at least 1", most);
    return {{.bos = open.source().bos(),
             .eos = open.source().eos(),
             .tokens = open.config().context_tokens,
             .stride = stride},
            open.batch_tokens(),
            most};
  }

  /// Reads all windows, some batches at a time: a long text may have as many windows as tokens.
  void read_all(AnswerReader& reader, const std::stop_token& cancel) {
    const size_t batches_at_once = 16 * static_cast<size_t>(engine.threads());
    for (std::vector<Batch> batches; !(batches = reader.next_batches(batches_at_once)).empty();)
      engine.run(std::ssize(batches), [&](int64_t i) {
        if (cancel.stop_requested()) throw Cancelled();
        const auto workspace = open.borrow();
        Context context(workspace->backend, workspace->arena);
        reader.read(open.model(), batches[static_cast<size_t>(i)], context);
      });
  }

  std::vector<TextAnswer> answer_all(std::span<const TextQuestion> questions, const AnswerOptions& options) {
    AnswerReader reader = this->reader(options);
    std::vector<TextAnswer> results(questions.size());
    std::vector<size_t> asked;  // the questions without an error
    std::shared_ptr<const LocatedText> text;
    for (size_t i = 0; i < questions.size(); ++i) {
      const auto& [context, question] = questions[i];
      TextAnswer& result = results[i];
      result.error = fault_of(context, "text");
      if (!result.error) result.error = fault_of(question, "question");
      if (result.error) continue;
      if (!text || text->text != context)
        text = std::make_shared<LocatedText>(context, open.source().locate(without_line_ends(context)));
      result.tokens_cut =
          static_cast<size_t>(reader.add(text, open.source().encode(without_line_ends(question))));
      asked.push_back(i);
    }
    read_all(reader, options.cancel);
    for (size_t k = 0; k < asked.size(); ++k) finish(reader.answer(k), questions[asked[k]], results[asked[k]]);
    return results;
  }

  static void finish(const std::optional<FoundSpan>& found, const TextQuestion& question, TextAnswer& result) {
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
};

QuestionAnswerer::QuestionAnswerer(const std::string& model_folder, int threads, WeightType type) {
  require(threads >= 0, "threads is {}; it must be at least 0 (0: all processor cores)", threads);
  parts_ = std::make_unique<Parts>(model_folder, threads == 0 ? available_threads() : threads, type);
}

QuestionAnswerer::~QuestionAnswerer() = default;
QuestionAnswerer::QuestionAnswerer(QuestionAnswerer&&) noexcept = default;

std::vector<TextAnswer> QuestionAnswerer::answers(std::span<const TextQuestion> questions,
                                                  const AnswerOptions& options) const {
  return parts_->answer_all(questions, options);
}

}  // namespace sixfold
