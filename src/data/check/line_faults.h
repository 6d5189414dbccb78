#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

// Faults of one line of text, whatever stands beside it. All text is valid UTF-8.

namespace sixfold {

/// Whether a line has text that was decoded in the wrong way: UTF-8 taken for Latin-1 or Windows-1252, such as
/// "Ã¤" for "ä", or U+FFFD, which stands for bytes that could not be decoded.
bool has_mojibake(std::string_view line);

/// Whether a line is not in the normal form NFC of Unicode: "ä" as the two characters "a" and U+0308.
bool is_decomposed(std::string_view line);

/// Whether a line has white space that is no part of its text: spaces at its ends, two in a row, tabs, no-break
/// spaces that no punctuation or number asks for, characters without width, or control characters.
bool has_odd_space(std::string_view line);

/// The line without those of the faults above that can be undone: text that was decoded in the wrong way is
/// decoded again, where all of it then is valid; a line that is not composed, or has odd spaces, is read as a
/// source is (`read_text`). A line without such faults is returned as it is.
std::string mended(std::string_view line);

/// The scripts of the letters of a text. Those that are written together are one: Han, Hiragana, Katakana and
/// Hangul.
class ScriptCounts {
 public:
  /// Counts the letters of a line.
  void add(std::string_view line);
  /// The script with most letters, by its number in ICU; -1: there are none.
  int commonest() const;
  int64_t letters() const { return letters_; }
  int64_t of(int script) const { return counts_[static_cast<size_t>(script)]; }

 private:
  std::array<int64_t, 256> counts_{};
  int64_t letters_ = 0;
};

/// Whether a word of a line has letters of two alphabets, Latin, Greek or Cyrillic, as where "a" is the
/// Cyrillic letter that looks like it.
bool mixes_alphabets(std::string_view line);

}  // namespace sixfold
