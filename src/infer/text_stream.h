#pragma once
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// The first place where one of the texts begins in `text`, or npos.
size_t find_first(std::string_view text, const std::vector<std::string>& searched);

/// Turns the growing tokens of a text into pieces that can be shown: whole characters only, and nothing that
/// may still become a stop string. The pieces together are the text up to the first stop string.
class TextStream {
 public:
  /// Both arguments must outlive the stream.
  TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stops)
      : tokenizer_(tokenizer), stops_(stops) {}
  /// All tokens so far -> what can be shown now.
  std::string push(std::span<const int32_t> ids);
  /// All tokens -> what is left.
  std::string finish(std::span<const int32_t> ids);

 private:
  std::string decode_new(std::span<const int32_t> ids, bool all);
  std::string take(bool all);

  const Tokenizer& tokenizer_;
  const std::vector<std::string>& stops_;
  size_t context_ = 0, decoded_ = 0;  // tokens [context, decoded) are decoded again with the new ones
  std::string held_;                  // decoded, but not shown yet
  bool stopped_ = false;
};

}  // namespace sixfold
