#pragma once
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <cstdint>
#include <string>

// Faults that tests give to lines.

namespace sixfold {

/// With letters and their marks as characters of their own.
inline std::string decomposed(const std::string& text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFDInstance(status);
  std::string result;
  form->normalize(icu::UnicodeString::fromUTF8(text), status).toUTF8String(result);
  return result;
}

/// UTF-8 that was taken for Latin-1.
inline std::string as_mojibake(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      result += c;
    } else {
      result += static_cast<char>(0xC0 | byte >> 6);
      result += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return result;
}

/// With the letters of Cyrillic that look alike.
inline std::string with_cyrillic(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == 'a' ? "а" : c == 'e' ? "е" : c == 'o' ? "о" : c == 'c' ? "с" : std::string(1, c);
  return result;
}

/// The number of bytes of the first characters.
inline size_t bytes_of(const std::string& text, int64_t characters) {
  size_t i = 0;
  for (; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80 && characters-- == 0) break;
  return i;
}

}  // namespace sixfold
