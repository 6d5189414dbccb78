#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// The position of the first byte that is not part of well-formed UTF-8 (Unicode, table 3-7: no overlong forms,
/// no surrogates, nothing above U+10FFFF), or nothing.
std::optional<size_t> first_invalid_utf8(std::string_view text);

/// `text` with U+FFFD in place of each longest ill-formed run that could begin a character, as browsers do it.
std::string replace_invalid_utf8(std::string_view text);

/// `text` with U+FFFD in place of each NUL.
std::string replace_nul(std::string text);

/// `text` so that it can stand on a line of a text file: a space in place of each line feed and carriage
/// return, U+FFFD in place of each NUL. A line reader finds it whole again.
std::string one_line(std::string text);

/// Whether some character of well-formed `text` leaves ink: neither space nor control nor format character.
bool has_visible_character(std::string_view text);

/// Well-formed `text` without the spaces, tabs and line ends (of all scripts) at its beginning and its end.
std::string_view trim_spaces(std::string_view text);

}  // namespace sixfold
