#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

// Faults of a single line of text, without regard to the other side of its pair. All text must be valid UTF-8.

namespace sixfold {

/// Whether a line has text that was decoded in the wrong way: UTF-8 taken for Latin-1 or Windows-1252, such as
/// "Ã¤" for "ä", or U+FFFD, which stands for bytes that could not be decoded.
bool has_mojibake(std::string_view line);

/// Whether a line is not in the normal form NFC of Unicode: "ä" as the two characters "a" and U+0308.
bool is_decomposed(std::string_view line);

/// Whether a line has white space that does not belong to its text: spaces at its ends, two in a row, tabs,
/// no-break spaces that are not beside punctuation or a number, characters without width, or control
/// characters.
bool has_odd_space(std::string_view line);

/// The line with those of the faults above repaired that can be repaired. Text that was decoded in the wrong
/// way is decoded again if all of it is valid then. A line that is not in NFC or has odd spaces is normalized
/// like a source (`read_text`). A line without such faults is returned unchanged.
std::string mended(std::string_view line);

/// Counts the letters of a text by script. Han, Hiragana, Katakana and Hangul count as one script, since they
/// are mixed in texts.
class ScriptCounts {
 public:
  /// Counts the letters of a line.
  void add(std::string_view line);
  /// The script with the most letters, by its number in ICU; -1 if there are no letters.
  int commonest() const;
  int64_t letters() const { return letters_; }
  /// Whether a character of this script says as much as some three letters: Chinese, Japanese and Korean.
  static bool is_dense(int script);
  int64_t of(int script) const { return counts_[static_cast<size_t>(script)]; }

 private:
  std::array<int64_t, 256> counts_{};
  int64_t letters_ = 0;
};

/// Whether a word of a line mixes letters of two alphabets of Latin, Greek and Cyrillic, for example because
/// its "a" is the Cyrillic letter of the same shape.
bool mixes_alphabets(std::string_view line);

}  // namespace sixfold
