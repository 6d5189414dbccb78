#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold {

/// What suggests that a text is no translation of its source.
struct TranslationFaults {
  bool loops = false;     ///< it ends in a repetition (`ends_in_a_loop`)
  bool copies = false;    ///< it is its source
  bool too_long = false;  ///< it is far longer than its source

  bool any() const { return count() > 0; }
  int count() const { return int{loops} + int{copies} + int{too_long}; }
};

/// A text that was translated, as its end and its tokens are, without the end token.
struct TextAndTokens {
  const std::string& text;
  const std::vector<int32_t>& ids;
};

/// Finds faults of a translation, in linear time. A copy is the same text but for case and white space; sources
/// of fewer than four words are none, such as names, or with letters beyond ASCII alone those with less than 24
/// bytes of them. Far longer is more than twice as long and 10 tokens and 40 bytes more, in tokens and in bytes
/// of UTF-8: one of them alone differs between scripts and vocabularies.
TranslationFaults faults_of(const TextAndTokens& source, const TextAndTokens& translation);

}  // namespace sixfold
