#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "text/words.h"

namespace sixfold {

/// How the patterns of byte-level BPE cut a text into words: contractions ('s, 't, ...), letters, numbers,
/// other signs and white space, where a word may have a space before it. Known tokenizers differ in the values
/// below.
struct WordPattern {
  enum class Contractions { exact, any_case };
  Contractions contractions = Contractions::exact;
  bool letters_after_any_sign = false;  ///< not only after a space: "(word"
  int most_digits = 0;                  ///< of a number; 0: any, and the number may have a space before it
  bool line_ends = false;               ///< belong to the signs before them, or end a word of white space

  /// The words of well-formed text, which are all of it. Each character is looked at a few times, whatever the
  /// text, so that the time is linear.
  std::vector<TextRange> words(std::string_view text) const;
};

/// The pattern that a regular expression of a tokenizer.json describes; none for those that are not known.
std::optional<WordPattern> word_pattern(std::string_view expression);

/// The pattern of GPT-2, which a ByteLevel pre-tokenizer has.
inline constexpr WordPattern gpt2_pattern{};

}  // namespace sixfold
