#include "metrics/unicode.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include "base/error.h"

namespace sixfold {

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  const auto length = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < length;) {
    const int32_t start = i;
    UChar32 c;
    U8_NEXT(text.data(), i, length, c);
    require(c >= 0, "invalid UTF-8 at byte {}; convert the text to UTF-8", start + 1);
    out.push_back(static_cast<char32_t>(c));
  }
  return out;
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) {
    char bytes[U8_MAX_LENGTH];
    int32_t length = 0;
    U8_APPEND_UNSAFE(bytes, length, c);
    out.append(bytes, static_cast<size_t>(length));
  }
  return out;
}

std::u32string to_lower(std::u32string_view text) {
  const auto length = static_cast<int32_t>(text.size());
  auto lowered = icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()), length);
  lowered.toLower(icu::Locale::getRoot());
  std::u32string out;
  for (int32_t i = 0; i < lowered.length(); i = lowered.moveIndex32(i, 1))
    out.push_back(static_cast<char32_t>(lowered.char32At(i)));
  return out;
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) ||
         (c >= 0x7B && c <= 0x7E);
}

bool is_space(char32_t c) { return (c >= 0x1C && c <= 0x1F) || u_isUWhiteSpace(static_cast<UChar32>(c)); }

std::u32string_view without_space_at_end(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string_view without_space_at_begin(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::vector<std::u32string_view> split_words(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && !is_space(text[end])) ++end;
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::u32string normalize_spaces(std::u32string_view text) {
  std::u32string out;
  for (const std::u32string_view word : split_words(text)) {
    if (!out.empty()) out.push_back(U' ');
    out.append(word);
  }
  return out;
}

}  // namespace sixfold
