#include "text/token_words.h"

#include <string>
#include <string_view>

#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {

/// Each token is decoded together with a few tokens before it, the first of which has text, because whether a
/// token begins a word depends on whether any text stands before it.
std::vector<int> words_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                 bool shows_unknown) {
  constexpr size_t max_context = 16;
  const auto text_of = [&](size_t begin, size_t end) {
    // SentencePiece writes an unknown character, which may be in the middle of a word, with spaces of its own.
    constexpr std::string_view unknown = " \u2047 ";
    const auto some = tokens.subspan(begin, end - begin);
    std::string text = shows_unknown ? tokenizer.decode(some, "?") : tokenizer.decode(some);
    for (size_t at = 0; (at = text.find(unknown, at)) != text.npos;) text.replace(at, unknown.size(), "?");
    return text;
  };
  const auto count_of = [](const std::string& text) { return static_cast<int>(count_words(text)); };
  std::vector<int> words;
  int count = 0, before = 0;  // `before`: the number of words in tokens [begin, i)
  for (size_t i = 0, begin = 0; i < tokens.size(); ++i) {
    const std::string alone = text_of(i, i + 1);
    const int with = count_of(text_of(begin, i + 1));
    count += with - before;
    words.push_back(count - 1);
    // A token may be a part of a character, which can be decoded only together with the other parts.
    const bool is_whole = !first_invalid_utf8(alone) && alone.find("\uFFFD") == alone.npos;
    const bool begins = (is_whole && count_of(alone) > 0) || i + 1 - begin >= max_context;
    if (begins) begin = i;
    before = begins ? count_of(alone) : with;
  }
  return words;
}

}  // namespace sixfold
