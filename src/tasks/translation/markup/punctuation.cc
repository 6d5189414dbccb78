#include "tasks/translation/markup/punctuation.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace sixfold {
namespace {

bool is_punctuation(UChar32 c) { return c >= 0 && u_ispunct(c); }

/// A mark that ends a sentence or a clause, in any script.
bool is_final_mark(UChar32 c) { return c >= 0 && u_hasBinaryProperty(c, UCHAR_TERMINAL_PUNCTUATION); }
bool is_quote_or_bracket(UChar32 c) {
  return c >= 0 && (u_hasBinaryProperty(c, UCHAR_QUOTATION_MARK) || u_charType(c) == U_END_PUNCTUATION);
}

}  // namespace

int punctuation_count(std::string_view text) {
  int count = 0;
  for (size_t i = 0; i < text.size(); ++count) {
    UChar32 c;
    U8_NEXT(text.data(), i, text.size(), c);
    if (!is_punctuation(c)) return 0;
  }
  return count;
}

size_t skip_punctuation(std::string_view text, size_t begin, size_t end, int max_count) {
  for (; max_count > 0; --max_count) {
    size_t next = begin;
    UChar32 c;
    U8_NEXT(text.data(), next, end, c);
    if (!is_punctuation(c) || next >= end) break;
    begin = next;
  }
  return begin;
}

size_t skip_punctuation_back(std::string_view text, size_t begin, size_t end, int max_count) {
  for (; max_count > 0; --max_count) {
    auto next = static_cast<int32_t>(end);
    UChar32 c;
    U8_PREV(text.data(), static_cast<int32_t>(begin), next, c);
    if (!is_punctuation(c) || static_cast<size_t>(next) <= begin) break;
    end = static_cast<size_t>(next);
  }
  return end;
}

size_t skip_final_marks_back(std::string_view text, size_t begin, size_t end, bool with_full_stops) {
  bool found = false;
  size_t before = end;
  while (before > begin) {
    auto next = static_cast<int32_t>(before);
    UChar32 c;
    U8_PREV(text.data(), static_cast<int32_t>(begin), next, c);
    const bool is_final = is_final_mark(c) && (with_full_stops || c != '.');
    if (!is_final && !is_quote_or_bracket(c)) break;
    found = found || is_final;
    before = static_cast<size_t>(next);
  }
  return found && before > begin ? before : end;
}

std::string_view behind_markup(std::string_view text) {
  for (size_t end; !text.empty(); text.remove_prefix(end)) {
    end = text[0] == '<' ? text.find('>') + 1 : std::string_view("*_~[").find(text[0]) != text.npos;
    if (end == 0) break;
  }
  return text;
}

std::string_view before_markup(std::string_view text) {
  while (!text.empty()) {
    const size_t begin = text.ends_with('>') ? text.rfind('<') : text.npos;
    if (begin != text.npos)
      text.remove_suffix(text.size() - begin);
    else if (std::string_view("*_~").find(text.back()) != text.npos)
      text.remove_suffix(1);
    else
      break;
  }
  return text;
}

}  // namespace sixfold
