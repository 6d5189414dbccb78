#pragma once
#include <string>
#include <string_view>

namespace sixfold {

// Letters and digits of ASCII, whatever the locale. All other bytes, those of UTF-8 as well, are neither and
// stay as they are.

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
constexpr bool is_ascii_letter(char c) { return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'; }
constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_ascii_punctuation(char c) {
  return c > ' ' && c < '\x7F' && !is_ascii_letter(c) && !is_ascii_digit(c);
}

/// The value of a hexadecimal digit; -1 for other characters.
constexpr int hex_digit(char c) {
  if (is_ascii_digit(c)) return c - '0';
  const char lower = ascii_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

inline std::string ascii_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = ascii_lower(c);
  return result;
}
inline std::string ascii_upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = ascii_upper(c);
  return result;
}

}  // namespace sixfold
