#pragma once
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace sixfold {

// Properties of characters as in Hugging Face's tokenizers. Parts of this library use old versions of Unicode:
// there, a character that was added later has no property, and a character whose property changed has the old
// one. The exceptions were found by testing the library with every character. Letters, digits and white space
// follow ICU.

/// Reads the character at `position` of well-formed text and moves the position behind it.
inline UChar32 next_character(std::string_view text, size_t& position) {
  const auto byte = static_cast<unsigned char>(text[position]);
  if (byte < 0x80) return ++position, byte;
  UChar32 c = 0;
  U8_NEXT_UNSAFE(text.data(), position, c);
  return c;
}

/// Appends a character as UTF-8.
void append_character(std::string& text, UChar32 c);

inline bool is_white_space(UChar32 c) {
  return c < 0x80 ? c == ' ' || (c >= '\t' && c <= '\r') : u_isUWhiteSpace(c) != 0;
}
inline bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_letter(UChar32 c) {
  return c < 0x80 ? (c | 32) >= 'a' && (c | 32) <= 'z' : (U_GET_GC_MASK(c) & U_GC_L_MASK) != 0;
}
inline bool is_numeric(UChar32 c) {
  return c < 0x80 ? c >= '0' && c <= '9' : (U_GET_GC_MASK(c) & U_GC_N_MASK) != 0;
}
/// \w of regular expressions (Unicode TR18).
bool is_word_character(UChar32 c);

/// Characters that BERT leaves out: control, format and private use characters (Unicode 8).
bool is_bert_control(UChar32 c);
/// Punctuation, and all visible ASCII characters that are neither letters nor digits (Unicode 8).
bool is_bert_punctuation(UChar32 c);
/// Nonspacing marks (Unicode 8).
bool is_bert_accent(UChar32 c);
/// Marks of all kinds (Unicode 9).
bool is_combining_mark(UChar32 c);
/// The ideographs that BERT puts spaces around.
bool is_bert_ideograph(UChar32 c);

}  // namespace sixfold
