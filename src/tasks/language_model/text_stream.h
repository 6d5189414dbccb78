#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// Texts of which the first that is complete ends another text. Immutable; may be used from several threads.
class StopStrings {
 public:
  StopStrings() = default;
  explicit StopStrings(std::vector<std::string> stops);
  bool empty() const { return stops_.empty(); }

 private:
  friend class TextStream;
  struct Stop {
    std::string text;
    std::vector<size_t> shorter;  ///< for each of its beginnings, the longest one with which that ends
  };
  std::vector<Stop> stops_;
};

/// Turns the growing tokens of a text into pieces that can be shown: whole characters only, and nothing that
/// may still become a stop string. The pieces together are the text up to the first stop string.
class TextStream {
 public:
  /// `tokenizer` and `stops` must outlive the stream. `prompt`: the number of tokens before the text; they are
  /// not shown, but tokens of words depend on those before them.
  TextStream(const Tokenizer& tokenizer, const StopStrings& stops, size_t prompt = 0)
      : tokenizer_(tokenizer),
        stops_(stops),
        begun_(stops.stops_.size()),
        context_(prompt > most_context ? prompt - most_context : 0),
        decoded_(prompt) {}
  /// All tokens so far, with the prompt -> what can be shown now.
  std::string push(std::span<const int32_t> ids);
  /// All tokens, with the prompt -> what is left.
  std::string finish(std::span<const int32_t> ids);
  /// Whether a stop string was found.
  bool stopped() const { return stopped_; }

 private:
  std::string decode_new(std::span<const int32_t> ids, bool all);
  void search(std::string_view text);
  std::string take(bool all);

  static constexpr size_t most_context = 16;  // tokens of the prompt to decode again
  static constexpr size_t longest_character = 4;

  const Tokenizer& tokenizer_;
  const StopStrings& stops_;
  std::vector<size_t> begun_;         // for each stop string, with how many bytes of it the text ends
  size_t context_ = 0, decoded_ = 0;  // tokens [context, decoded) are decoded again with the new ones
  std::string held_;                  // decoded, but not shown yet
  bool stopped_ = false;
};

}  // namespace sixfold
