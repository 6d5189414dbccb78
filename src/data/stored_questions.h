#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/question_reader.h"
#include "data/sequence_store.h"
#include "text/tokenizer.h"

namespace sixfold {

/// Encodes texts with questions for a store: a sequence has a text and all its questions. Throws as
/// `QuestionReader`, and an input error that names the place if a text, a question or an answer has no token. A
/// few hundred texts are in memory at a time. `threads` does not affect the result. The tokenizer must outlive
/// the function.
EncodeFiles question_encoder(const Tokenizer& tokenizer, InvalidUtf8 invalid, int threads);

/// A question as it is stored; the views are of the store.
struct StoredQuestion {
  std::span<const int32_t> tokens;
  int32_t first = 0, last = 0;       ///< tokens of the first right answer
  std::vector<std::string> answers;  ///< all right answers
};

/// A text as it is stored; the views are of the store.
class StoredPassage {
 public:
  explicit StoredPassage(std::span<const int32_t> sequence);

  std::span<const int32_t> tokens() const { return tokens_; }
  int32_t questions() const { return questions_; }
  /// The tokens with their byte ranges in `text`.
  std::vector<LocatedToken> located() const;
  std::string text() const;
  /// The question that begins at the offset `place` of the sequence. Sets `place` to the offset of the next
  /// question.
  StoredQuestion question_at(size_t& place) const;
  /// The offset of the first question in the sequence.
  size_t first_question() const { return first_question_; }

 private:
  std::span<const int32_t> sequence_, tokens_, begins_, ends_, text_;
  int32_t questions_, text_bytes_;
  size_t first_question_;
};

}  // namespace sixfold
