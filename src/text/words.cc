#include "text/words.h"

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

}  // namespace sixfold
