#pragma once
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/question_windows.h"
#include "model/transformer.h"
#include "text/tokenizer.h"

namespace sixfold {

/// A text that contains answers, with its tokens.
struct LocatedText {
  std::string text;  ///< well-formed UTF-8
  std::vector<LocatedToken> tokens;
  std::vector<int32_t> ids = {};  ///< of the tokens
  std::vector<bool> visible =
      {};  ///< whether a token has a visible character; an answer begins and ends with such tokens

  LocatedText(std::string text, std::vector<LocatedToken> tokens);
};

/// The answer to a question: a part of its text.
struct FoundSpan {
  size_t begin = 0, end = 0;  ///< bytes of the text: whole characters, without white space at both ends
  /// The product of the probabilities of its start and of its end; NaN if the model's scores are not finite.
  double probability = 0;
};

/// Finds answers to questions in texts. The model gives each token of a text a score as the start of the answer
/// and one as its end (Devlin et al. 2019, section 4.2). The answer is the span within a window with the
/// largest sum of both scores. Its probability is computed by softmax over all tokens of the text; a token in
/// several windows has the largest of its scores.
class AnswerReader {
 public:
  AnswerReader(const WindowOptions& windows, int64_t batch_tokens, int max_answer_tokens)
      : options_(windows), batch_tokens_(batch_tokens), max_answer_tokens_(max_answer_tokens) {}

  /// Adds a question. Call before `next_batches`. Returns the number of its tokens that are cut off.
  int64_t add(std::shared_ptr<const LocatedText> text, std::vector<int32_t> question);
  /// Returns the next batches of windows, at most `max_batches`; none after the last. Only the batches that are
  /// being read need memory, however many windows there are.
  std::vector<Batch> next_batches(size_t max_batches);
  /// Computes the scores of a batch. Safe for several batches at the same time.
  void read(const Transformer& model, const Batch& batch, Context& context);
  /// Returns the answer to question i, whose batches have been read; nothing if the text has no visible token.
  std::optional<FoundSpan> answer(size_t i) const;

 private:
  /// A span of tokens in a window, with the sum of its two scores.
  struct Span {
    double score = -std::numeric_limits<double>::infinity();
    int64_t window = 0;
    size_t first = 0, last = 0;  ///< tokens of the text
  };
  struct Question {
    std::shared_ptr<const LocatedText> text;
    std::vector<int32_t> ids;  ///< of the question
    QuestionWindows windows;
    int64_t first_window;              ///< index of its first window among the windows of all questions
    std::vector<double> starts, ends;  ///< of each token of the text, the largest scores of all windows
    Span best = {};
    bool finite = true;  ///< whether all scores are finite
  };

  Span best_span(const Question& question, int64_t window, std::span<const double> starts,
                 std::span<const double> ends) const;
  void keep(Question& question, int64_t window, std::span<const double> starts, std::span<const double> ends);

  WindowOptions options_;
  int64_t batch_tokens_;
  int max_answer_tokens_;
  BatchBuilder builder_;
  std::vector<Question> questions_;
  int64_t windows_ = 0;                                // number of windows of all questions
  size_t next_ = 0;                                    // the question whose windows are next
  int64_t next_window_ = 0;                            // index of the next window of that question
  std::unique_ptr<std::mutex> mutex_{new std::mutex};  // guards the scores in `questions_`
};

}  // namespace sixfold
