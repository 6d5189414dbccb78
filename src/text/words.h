#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/api.h"

namespace sixfold {

/// A part of a text, in bytes.
struct TextRange {
  size_t begin = 0, end = 0;
  bool operator==(const TextRange&) const = default;
};

/// The words of a text, in order: what white space (Unicode's White_Space) separates. Word alignments count
/// these words from 0. Bytes that are not valid UTF-8 are part of a word.
SIXFOLD_API std::vector<TextRange> word_ranges(std::string_view text);

/// The words of a text, in order, where words of scripts without spaces, such as Chinese, Japanese and Thai,
/// are divided into those that ICU's dictionaries find. The same as `word_ranges` for a text of other scripts.
/// Positions in documents are found by the alignment of these words.
SIXFOLD_API std::vector<TextRange> word_parts(std::string_view text);

/// `word_ranges(text).size()`
size_t count_words(std::string_view text);

/// Whether a character is a part of words: a letter, mark or digit of a script that is written with spaces, or
/// a zero-width joiner or non-joiner.
bool is_within_words(char32_t character);

/// The words of a text that the phrases of a glossary are made of, in order: runs of letters, marks and digits;
/// every other visible character counts as a word, as does each character of a script that is written without
/// spaces. Takes O(n) time.
std::vector<TextRange> phrase_words(std::string_view text);

/// The runs of word characters (`is_within_words`) of a text, in order.
std::vector<TextRange> words_of_letters(std::string_view text);

/// The positions at which `word` is a whole word of a text, with no other word character (`is_within_words`)
/// beside it; none if the text also has it as a part of another word. Takes O(n) time for a short word.
std::vector<size_t> places_of_word(std::string_view text, std::string_view word);

/// Whether a text begins, or ends, with a word character.
bool begins_within_word(std::string_view text);
bool ends_within_word(std::string_view text);

}  // namespace sixfold
