#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold {

/// Signs that a text is not a translation of its source.
struct TranslationFaults {
  bool loops = false;     ///< it ends in a repetition (`ends_in_a_loop`)
  bool copies = false;    ///< it is a copy of its source
  bool too_long = false;  ///< it is far longer than its source

  bool any() const { return count() > 0; }
  int count() const { return int{loops} + int{copies} + int{too_long}; }
};

/// A source or a translation, as text and as tokens without the end token.
struct TextAndTokens {
  const std::string& text;
  const std::vector<int32_t>& ids;
};

/// Finds faults of a translation, in linear time.
///
/// A copy is the same text except for case and white space. Short sources, such as names, never count as
/// copied: those with fewer than four words or, if all letters are outside ASCII, with less than 24 bytes of
/// letters.
///
/// A translation is too long if it has more than 2 n + 10 tokens and more than 2 m + 40 bytes of UTF-8, where n
/// and m are the numbers of its source. Both must hold, since either number alone differs between scripts and
/// vocabularies.
TranslationFaults faults_of(const TextAndTokens& source, const TextAndTokens& translation);

}  // namespace sixfold
