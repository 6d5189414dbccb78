#pragma once
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/api.h"
#include "runtime/predictor.h"

namespace sixfold {

class OptionVisitor;

/// A question about a text.
struct TextQuestion {
  std::string text, question;
};

/// The answer to a question: a part of its text.
struct TextAnswer {
  std::string text;                  ///< empty if there is an error
  size_t begin = 0, end = 0;         ///< its byte offsets in the text
  double probability = 0;            ///< of its start, times that of its end
  size_t tokens_cut = 0;             ///< tokens at the end of the question that the model did not read
  std::optional<std::string> error;  ///< why there is no answer, such as an empty text
};

struct AnswerOptions {
  std::optional<int> max_answer_tokens = {};  ///< default: the model's
  std::optional<int> stride = {};  ///< tokens from one window of a long text to the next; default: the model's
  std::stop_token cancel = {};     ///< when stop is requested, the call soon throws `Cancelled`
};
void visit(OptionVisitor& v, AnswerOptions& o);

/// Answers questions by parts of texts, with the model in a model folder. Safe to share between threads.
class SIXFOLD_API QuestionAnswerer final : public Predictor {
 public:
  /// Throws an input error if the model is not one that answers questions.
  explicit QuestionAnswerer(std::shared_ptr<ModelRuntime> model);
  /// The same for a model folder. Throws as `open_model` as well.
  explicit QuestionAnswerer(const std::string& model_folder, const RuntimeOptions& options = {})
      : QuestionAnswerer(open_model(model_folder, options)) {}

  /// Returns the answers, in the order of the questions. A question has the same answer whatever other
  /// questions there are, and with any number of threads. One whose text or question is empty or not valid
  /// UTF-8 has an error; the others have results. A long text is read in windows. Throws an input error if an
  /// option is out of range.
  std::vector<TextAnswer> answers(std::span<const TextQuestion> questions,
                                  const AnswerOptions& options = {}) const;
};

}  // namespace sixfold
