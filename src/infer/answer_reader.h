#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/question_windows.h"
#include "model/transformer.h"
#include "text/tokenizer.h"

namespace sixfold {

/// A text from which answers are cut.
struct LocatedText {
  std::string text;  ///< well-formed UTF-8
  std::vector<LocatedToken> tokens;
  std::vector<int32_t> ids = {};   ///< of the tokens
  std::vector<bool> visible = {};  ///< whether a token has a visible character: others are no ends of answers

  LocatedText(std::string text, std::vector<LocatedToken> tokens);
};

/// The answer to a question: a part of its text.
struct FoundSpan {
  size_t begin = 0, end = 0;  ///< bytes of the text: whole characters, without white space at both ends
  /// The product of the probabilities that it starts there and that it ends there; NaN if the model's scores
  /// are not finite.
  double probability = 0;
};

/// Reads texts with a model that answers questions. Each token of a text has a score as the start of the answer
/// and one as its end (Devlin et al. 2019, section 4.2). The answer is the span of one window with the largest
/// sum of both. Its probability is that under the softmax over all tokens of the text; a token that several
/// windows have counts there with its largest score.
class AnswerReader {
 public:
  AnswerReader(const WindowOptions& windows, int64_t batch_tokens, int max_answer_tokens)
      : options_(windows), batch_tokens_(batch_tokens), max_answer_tokens_(max_answer_tokens) {}

  /// Adds a question. Returns the number of its tokens that are cut off.
  int64_t add(std::shared_ptr<const LocatedText> text, std::span<const int32_t> question);
  /// Returns the batches of all windows of the questions that were added; call it once, then.
  std::vector<Batch> take_batches();
  /// Computes the scores of a batch. Safe for several batches at the same time.
  void read(const Transformer& model, const Batch& batch, Context& context);
  /// Returns the answer to question i, whose batches have been read; nothing if the text has no visible token.
  std::optional<FoundSpan> answer(size_t i) const;

 private:
  struct Asked {
    std::shared_ptr<const LocatedText> text;
    QuestionWindows windows;
    size_t first_window;  ///< of its windows among all
  };
  /// The scores of the tokens of a window.
  struct Scores {
    std::vector<double> start, end;
  };

  std::span<const Scores> scores_of(const Asked& asked) const {
    return std::span(scores_).subspan(asked.first_window, static_cast<size_t>(asked.windows.size()));
  }

  WindowOptions options_;
  int64_t batch_tokens_;
  int max_answer_tokens_;
  BatchBuilder builder_;
  std::vector<Batch> batches_;
  std::vector<Asked> asked_;
  std::vector<Scores> scores_;  // by window
};

}  // namespace sixfold
