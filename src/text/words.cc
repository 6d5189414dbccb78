#include "text/words.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "text/sentences.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

template <class Function>
void for_each_word(std::string_view text, Function function) {
  bool inside = false;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t at = i;
    const bool space = next_is_space(text, i);
    if (inside && space) function(TextRange{begin, at});
    if (!inside) begin = at;
    inside = !space;
  }
  if (inside) function(TextRange{begin, text.size()});
}

/// Whether a character belongs to a script that puts no spaces between words.
bool is_without_spaces(UChar32 c) {
  if (c < 0x0E00) return false;
  return uscript_hasScript(c, USCRIPT_HAN) || uscript_hasScript(c, USCRIPT_KATAKANA) ||
         uscript_hasScript(c, USCRIPT_HIRAGANA) ||
         u_getIntPropertyValue(c, UCHAR_LINE_BREAK) == U_LB_COMPLEX_CONTEXT;
}

/// The character that ends at a position; negative if there is none.
UChar32 character_before(std::string_view text, size_t position) {
  text = text.substr(position - std::min<size_t>(position, U8_MAX_LENGTH),
                     std::min<size_t>(position, U8_MAX_LENGTH));
  auto end = static_cast<int32_t>(text.size());
  UChar32 c = -1;
  if (!text.empty()) U8_PREV(text.data(), 0, end, c);
  return c;
}

/// The character that begins at a position; negative if there is none.
UChar32 character_at(std::string_view text, size_t position) {
  UChar32 c = -1;
  if (position < text.size()) U8_NEXT(text.data(), position, text.size(), c);
  return c;
}

bool has_script_without_spaces(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    UChar32 c;
    U8_NEXT(text.data(), i, text.size(), c);
    if (is_without_spaces(c)) return true;
  }
  return false;
}

}  // namespace

std::vector<TextRange> word_ranges(std::string_view text) {
  std::vector<TextRange> words;
  for_each_word(text, [&](TextRange word) { words.push_back(word); });
  return words;
}

std::vector<TextRange> word_parts(std::string_view text) {
  std::vector<TextRange> words = word_ranges(text);
  if (!has_script_without_spaces(text)) return words;
  std::vector<TextRange> parts;
  const std::vector<size_t> breaks = word_breaks(text);
  auto next = breaks.begin();
  for (TextRange word : words) {
    next = std::lower_bound(next, breaks.end(), word.begin + 1);
    for (; next != breaks.end() && *next < word.end; ++next)
      if (is_without_spaces(character_before(text, *next)) || is_without_spaces(character_at(text, *next))) {
        parts.push_back({word.begin, *next});
        word.begin = *next;
      }
    parts.push_back(word);
  }
  return parts;
}

size_t count_words(std::string_view text) {
  size_t count = 0;
  for_each_word(text, [&](TextRange) { ++count; });
  return count;
}

bool is_within_words(char32_t character) {
  const auto c = static_cast<UChar32>(character);
  if (c == 0x200C || c == 0x200D) return true;  // joiners stand within words of Persian and Indian languages
  constexpr uint32_t word = U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK;
  if (!(U_GET_GC_MASK(c) & word)) return false;
  const auto line_break = static_cast<ULineBreak>(u_getIntPropertyValue(c, UCHAR_LINE_BREAK));
  return line_break != U_LB_IDEOGRAPHIC && line_break != U_LB_CONDITIONAL_JAPANESE_STARTER &&
         line_break != U_LB_COMPLEX_CONTEXT;
}

std::vector<TextRange> phrase_words(std::string_view text) {
  std::vector<TextRange> words;
  bool joins = false, begins = true;  // whether the last word can go on, and whether the next one must begin
  const auto length = static_cast<int32_t>(text.size());
  for (int32_t begin = 0, end = 0; begin < length; begin = end) {
    UChar32 c = 0;
    U8_NEXT(text.data(), end, length, c);
    if (u_isUWhiteSpace(c)) {
      begins = true;
      continue;
    }
    const bool within = c >= 0 && is_within_words(static_cast<char32_t>(c)),
               mark = c >= 0 && (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
    if (!begins && ((joins && within) || mark)) {
      words.back().end = static_cast<size_t>(end);
    } else {
      words.push_back({static_cast<size_t>(begin), static_cast<size_t>(end)});
      joins = within;
    }
    begins = false;
  }
  return words;
}

bool begins_within_word(std::string_view text) {
  const UChar32 c = character_at(text, 0);
  return c >= 0 && is_within_words(static_cast<char32_t>(c));
}

bool ends_within_word(std::string_view text) {
  const UChar32 c = character_before(text, text.size());
  return c >= 0 && is_within_words(static_cast<char32_t>(c));
}

std::vector<TextRange> words_of_letters(std::string_view text) {
  std::vector<TextRange> words;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    UChar32 c;
    U8_NEXT(text.data(), i, text.size(), c);
    if (c < 0 || !is_within_words(static_cast<char32_t>(c))) continue;
    if (words.empty() || words.back().end != begin) words.push_back({begin, begin});
    words.back().end = i;
  }
  return words;
}

std::vector<size_t> places_of_word(std::string_view text, std::string_view word) {
  std::vector<size_t> places;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) {
    if (ends_within_word(text.substr(0, at)) || begins_within_word(text.substr(at + word.size()))) return {};
    places.push_back(at);
  }
  return places;
}

}  // namespace sixfold
