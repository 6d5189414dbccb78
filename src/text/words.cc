#include "text/words.h"

#include <unicode/utf8.h>

#include <algorithm>

#include "text/glossary.h"
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

}  // namespace

std::vector<TextRange> word_ranges(std::string_view text) {
  std::vector<TextRange> words;
  for_each_word(text, [&](TextRange word) { words.push_back(word); });
  return words;
}

size_t count_words(std::string_view text) {
  size_t count = 0;
  for_each_word(text, [&](TextRange) { ++count; });
  return count;
}

bool begins_within_word(std::string_view text) {
  size_t next = 0;
  UChar32 c = -1;
  if (!text.empty()) U8_NEXT(text.data(), next, text.size(), c);
  return c >= 0 && is_within_words(static_cast<char32_t>(c));
}

bool ends_within_word(std::string_view text) {
  text = text.substr(text.size() - std::min<size_t>(text.size(), U8_MAX_LENGTH));
  auto end = static_cast<int32_t>(text.size());
  UChar32 c = -1;
  if (!text.empty()) U8_PREV(text.data(), 0, end, c);
  return c >= 0 && is_within_words(static_cast<char32_t>(c));
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
