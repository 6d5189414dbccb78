#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "text/words.h"

namespace sixfold {

/// A pattern by which byte-level BPE splits a text into words: contractions ('s, 't, ...), letters, numbers,
/// symbols and white space. A word may begin with a space. Known tokenizers differ in the values below.
struct WordPattern {
  enum class Contractions { exact, any_case };
  Contractions contractions = Contractions::exact;
  bool letters_after_any_symbol = false;  ///< not only after a space: "(word"
  int max_digits = 0;                     ///< of a number; 0: any, and the number may have a space before it
  bool line_ends = false;  ///< line ends belong to the symbols before them, or end a word of white space

  /// The words of well-formed text, which cover all of it. Each character is read only a few times, so that the
  /// time is linear.
  std::vector<TextRange> words(std::string_view text) const;
};

/// The pattern that a regular expression of a tokenizer.json describes; none for those that are not known.
std::optional<WordPattern> word_pattern(std::string_view expression);

/// The pattern of GPT-2, which a ByteLevel pre-tokenizer has.
inline constexpr WordPattern gpt2_pattern{};

}  // namespace sixfold
