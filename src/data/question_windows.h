#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ops/batch.h"
#include "text/tokenizer.h"

namespace sixfold {

/// How an encoder reads questions about texts.
struct WindowOptions {
  int32_t bos = -1, eos = 2;  ///< of the vocabulary; -1: there is no start token
  int64_t tokens = 384;       ///< maximum number of tokens that the encoder reads at once
  int64_t stride = 128;       ///< tokens from one window of a text to the next
  int64_t separators = 1;     ///< end tokens between the question and the text
};

/// Lays out a question and a text for an encoder: the start token if there is one, the question, the end token
/// (or two), a window of the text, the end token. A long text has several windows (Devlin et al. 2019), each of
/// which shares at least half of its tokens with the next, so that a short answer lies completely in one of
/// them. A question gets at most half of the tokens; the rest of it is cut off.
class QuestionWindows {
 public:
  QuestionWindows(const WindowOptions& options, int64_t question_tokens, int64_t text_tokens);

  /// The number of windows, which is 0 for a text without tokens.
  int64_t size() const { return count_; }
  /// The tokens of the text in a window.
  RowRange window(int64_t i) const;
  /// The number of tokens that the encoder reads for a window.
  int64_t tokens(int64_t i) const { return before_ + window(i).size() + 1; }
  /// The number of tokens of the question that are cut off.
  int64_t cut() const { return cut_; }

  /// Adds a window to a batch. The rows to choose from are the tokens of the text (`BatchBuilder::choose`).
  /// `answer`: the first and the last token of the answer, which is in the window; empty without labels.
  void add(int64_t i, std::span<const int32_t> question, std::span<const int32_t> text, BatchBuilder& batch,
           std::span<const int32_t> answer = {}) const;

 private:
  WindowOptions options_;
  int64_t text_tokens_, cut_, before_ = 0, window_tokens_ = 0, step_ = 0, count_ = 0;
};

/// The range of the tokens that contain bytes of [begin, end) of a text. If there are none, the `begin` of the
/// range is not below its `end`.
RowRange tokens_of_bytes(std::span<const LocatedToken> tokens, size_t begin, size_t end);

}  // namespace sixfold
