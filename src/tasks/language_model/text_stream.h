#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// Strings that end a generated text: it ends before the first of them. Immutable; safe to share between
/// threads.
class StopStrings {
 public:
  StopStrings() = default;
  explicit StopStrings(std::vector<std::string> stops);
  bool empty() const { return stops_.empty(); }

 private:
  friend class TextStream;
  struct Stop {
    std::string text;
    std::vector<size_t>
        border_lengths;  ///< for each prefix, the length of its longest proper prefix that is also its suffix
  };
  std::vector<Stop> stops_;
};

/// Converts the growing sequence of tokens of a text to pieces that can be shown. Pieces have whole characters
/// only, and nothing that may become part of a stop string. All pieces together are the text before the first
/// stop string.
class TextStream {
 public:
  /// `tokenizer` and `stops` must outlive the stream. `prompt`: the number of tokens before the text. They are
  /// not shown, but the text of a token may depend on the tokens before it. A character that begins in the
  /// prompt is part of the text.
  TextStream(const Tokenizer& tokenizer, const StopStrings& stops, size_t prompt = 0)
      : tokenizer_(tokenizer),
        stops_(stops),
        matched_(stops.stops_.size()),
        context_(prompt > max_context_tokens ? prompt - max_context_tokens : 0),
        prompt_(prompt),
        decoded_(prompt) {}
  /// Returns the text that can be shown now. `ids`: all tokens so far, including the prompt: one more than at
  /// the last call, since how many tokens have not completed a character says whether it is broken.
  std::string push(std::span<const int32_t> ids);
  /// Returns the rest of the text. `ids`: all tokens, including the prompt.
  std::string finish(std::span<const int32_t> ids);
  /// Whether a stop string was found.
  bool stopped() const { return stopped_; }

 private:
  size_t bytes_of_prompt(std::span<const int32_t> ids, std::string_view text) const;
  std::string decode_new(std::span<const int32_t> ids, bool all);
  void search(std::string_view text);
  std::string take(bool all);

  static constexpr size_t max_context_tokens = 16;  // of the prompt
  static constexpr size_t max_character_bytes = 4;

  const Tokenizer& tokenizer_;
  const StopStrings& stops_;
  std::vector<size_t> matched_;  // for each stop string, the number of its bytes that end the text
  size_t context_ = 0, prompt_ = 0, decoded_ = 0;  // tokens [context, decoded) are decoded again
  std::string held_;                               // decoded, and not shown yet
  bool stopped_ = false;
};

}  // namespace sixfold
