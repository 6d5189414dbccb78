#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// The position of the first byte that is not part of well-formed UTF-8 (Unicode, table 3-7: no overlong forms,
/// no surrogates, nothing above U+10FFFF), or nothing if the text is well formed.
std::optional<size_t> first_invalid_utf8(std::string_view text);

/// The number of characters (code points) of well-formed `text`.
int64_t count_characters(std::string_view text);

/// `text` with each maximal ill-formed sequence replaced by U+FFFD, as browsers do.
std::string replace_invalid_utf8(std::string_view text);

/// `text` with each NUL replaced by U+FFFD.
std::string replace_nul(std::string text);

/// `text` as one line of a text file: each line feed and carriage return is replaced by a space, and each NUL
/// by U+FFFD.
std::string one_line(std::string text);

/// `text` with one space for each run of spaces, tabs and line ends, and none at its ends.
std::string with_single_spaces(std::string_view text);

/// Whether well-formed `text` contains a visible character: one that is not a space, control or format
/// character.
bool has_visible_character(std::string_view text);

/// Whether text contains a letter or a digit, of any script. Ill-formed UTF-8 is neither.
bool has_letter_or_digit(std::string_view text);
/// Whether text contains a letter, likewise.
bool has_letter(std::string_view text);

/// Whether the character of well-formed `text` at `position` is white space (Unicode's White_Space). Moves
/// `position` to the next character.
bool next_is_space(std::string_view text, size_t& position);

/// Well-formed `text` without the white space (of all scripts) at both ends.
std::string_view trim_spaces(std::string_view text);

/// A text for a message. A text of more than 80 bytes is cut after a whole character, and ends with "...".
std::string excerpt(const std::string& text);

}  // namespace sixfold
