#include "text/json/unicode_rules.h"

#include <array>

namespace sixfold {
namespace {

/// Whether a character was already assigned in a version of Unicode.
bool is_of_version(UChar32 c, int version) {
  UVersionInfo age{};
  u_charAge(c, age);
  return age[0] > 0 && (age[0] < version || (age[0] == version && age[1] == 0));
}

}  // namespace

void append_character(std::string& text, UChar32 c) {
  std::array<char, U8_MAX_LENGTH> bytes{};
  int32_t length = 0;
  U8_APPEND_UNSAFE(bytes.data(), length, c);
  text.append(bytes.data(), static_cast<size_t>(length));
}

bool is_word_character(UChar32 c) {
  return u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) ||
         (U_GET_GC_MASK(c) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0;
}

bool is_bert_control(UChar32 c) {
  return (U_GET_GC_MASK(c) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0 && is_of_version(c, 8);
}

bool is_bert_punctuation(UChar32 c) {
  if (c < 0x80) return c > ' ' && c < 0x7F && !is_letter(c) && !is_numeric(c);
  if (c == 0x166D || c == 0x111C9) return true;
  return (U_GET_GC_MASK(c) & U_GC_P_MASK) != 0 && is_of_version(c, 8);
}

bool is_bert_accent(UChar32 c) {
  if (c < 0x300) return false;
  if (c == 0x1734 || c == 0xA9BD) return true;
  if (c == 0x1885 || c == 0x1886 || c == 0x111C9) return false;
  return (U_GET_GC_MASK(c) & U_GC_MN_MASK) != 0 && is_of_version(c, 8);
}

bool is_combining_mark(UChar32 c) {
  if (c < 0x300 || c == 0x111C9) return false;
  if (c == 0x1CF2 || c == 0x1CF3) return true;
  return (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0 && is_of_version(c, 9);
}

bool is_bert_ideograph(UChar32 c) {
  if (c < 0x3400) return false;
  return c <= 0x4DBF || (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

}  // namespace sixfold
