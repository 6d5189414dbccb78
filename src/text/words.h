#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace sixfold {

/// A part of a text, in bytes.
struct TextRange {
  size_t begin = 0, end = 0;
  bool operator==(const TextRange&) const = default;
};

/// The words of a text, in order: what white space (Unicode's White_Space) separates. Word alignments count
/// these words from 0. Bytes that are not valid UTF-8 are part of a word.
std::vector<TextRange> word_ranges(std::string_view text);

/// `word_ranges(text).size()`
size_t count_words(std::string_view text);

}  // namespace sixfold
