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

  /// Adds a question, before the first batch is made. Returns the number of its tokens that are cut off.
  int64_t add(std::shared_ptr<const LocatedText> text, std::vector<int32_t> question);
  /// Makes the next batches, at most `most`, of windows of the questions that were added; none after the last.
  /// Memory need only hold the batches that are being read, however many windows there are.
  std::vector<Batch> next_batches(size_t most);
  /// Computes the scores of a batch. Safe for several batches at the same time.
  void read(const Transformer& model, const Batch& batch, Context& context);
  /// Returns the answer to question i, whose batches have been read; nothing if the text has no visible token.
  std::optional<FoundSpan> answer(size_t i) const;

 private:
  /// A span of tokens of a window, and the sum of its scores.
  struct Span {
    double score = -std::numeric_limits<double>::infinity();
    int64_t window = 0;
    size_t first = 0, last = 0;  ///< tokens of the text
  };
  struct Asked {
    std::shared_ptr<const LocatedText> text;
    std::vector<int32_t> question;
    QuestionWindows windows;
    int64_t first_window;              ///< of its windows among all
    std::vector<double> starts, ends;  ///< by token of the text, the largest scores of all windows
    Span best = {};
    bool finite = true;  ///< all scores
  };

  Span best_span(const Asked& asked, int64_t window, std::span<const double> starts,
                 std::span<const double> ends) const;
  void keep(Asked& asked, int64_t window, std::span<const double> starts, std::span<const double> ends);

  WindowOptions options_;
  int64_t batch_tokens_;
  int max_answer_tokens_;
  BatchBuilder builder_;
  std::vector<Asked> asked_;
  int64_t windows_ = 0;                                // of all questions
  size_t next_ = 0;                                    // the question whose windows become batches
  int64_t next_window_ = 0;                            // of that question
  std::unique_ptr<std::mutex> mutex_{new std::mutex};  // of the scores in `asked_`
};

}  // namespace sixfold
