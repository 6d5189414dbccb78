#include "text/utf8.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdlib>

namespace sixfold {
namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

// The number of bytes of the first character of `text` (not empty), or minus the number of bytes of the
// ill-formed sequence there.
int character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return -1;
  const int length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (int i = 1; i < length; ++i) {
    if (byte(i) < low || byte(i) > high) return -i;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    const int length = character_length(text.substr(position));
    if (length < 0) return position;
    position += length;
  }
  return std::nullopt;
}

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const int length = character_length(text);
    result += length > 0 ? text.substr(0, length) : replacement_character;
    text.remove_prefix(std::abs(length));
  }
  return result;
}

std::string replace_nul(std::string text) {
  if (text.find('\0') == text.npos) return text;
  std::string result;
  for (const char c : text) result += c == '\0' ? replacement_character : std::string_view(&c, 1);
  return result;
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return replace_nul(std::move(text));
}

std::string with_single_spaces(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) result += c;
    if (space && !result.empty() && result.back() != ' ') result += ' ';
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

/// Whether a text contains a character for which `is_of_kind` is true. Ill-formed UTF-8 is passed as a negative
/// number.
static bool has_character(std::string_view text, bool (*is_of_kind)(UChar32 character)) {
  for (size_t position = 0; position < text.size();) {
    UChar32 character;
    U8_NEXT(text.data(), position, text.size(), character);
    if (is_of_kind(character)) return true;
  }
  return false;
}

bool has_visible_character(std::string_view text) {
  return has_character(text, [](UChar32 c) { return u_isgraph(c) != 0; });
}

bool has_letter(std::string_view text) {
  return has_character(text, [](UChar32 c) { return c >= 0 && u_isalpha(c); });
}

bool has_letter_or_digit(std::string_view text) {
  return has_character(text, [](UChar32 c) { return c >= 0 && u_isalnum(c); });
}

bool next_is_space(std::string_view text, size_t& position) {
  const auto byte = static_cast<unsigned char>(text[position]);
  if (byte < 0x80) {
    ++position;
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
  }
  UChar32 character;
  U8_NEXT(text.data(), position, text.size(), character);
  return character >= 0 && u_isUWhiteSpace(character);
}

std::string_view trim_spaces(std::string_view text) {
  size_t begin = text.size(), end = 0;
  for (size_t start = 0, next = 0; start < text.size(); start = next) {
    UChar32 character;
    U8_NEXT(text.data(), next, text.size(), character);
    if (u_isspace(character)) continue;
    begin = std::min(begin, start);
    end = next;
  }
  return text.substr(begin, std::max(begin, end) - begin);
}

std::string excerpt(const std::string& text) {
  constexpr size_t max_bytes = 80;
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace sixfold
