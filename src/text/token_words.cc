#include "text/token_words.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {

namespace {

std::string text_of(const Tokenizer& tokenizer, std::span<const int32_t> tokens, bool shows_unknown) {
  // SentencePiece writes an unknown character, which may be in the middle of a word, with spaces of its own.
  constexpr std::string_view unknown = " \u2047 ";
  std::string text = shows_unknown ? tokenizer.decode(tokens, "?") : tokenizer.decode(tokens);
  for (size_t at = 0; (at = text.find(unknown, at)) != text.npos;) text.replace(at, unknown.size(), "?");
  return text;
}

/// The sizes of the texts of the first token, the first two, ..., where `size_of` measures a text. Each token
/// is decoded together with a few tokens before it, the first of which has text, because whether a token begins
/// a word depends on whether any text stands before it.
template <class Size>
std::vector<size_t> sizes_of_texts(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                   bool shows_unknown, Size size_of) {
  constexpr size_t max_context = 16;
  std::vector<size_t> sizes;
  size_t size = 0, before = 0;  // `before`: the size of tokens [begin, i)
  for (size_t i = 0, begin = 0; i < tokens.size(); ++i) {
    const std::string alone = text_of(tokenizer, tokens.subspan(i, 1), shows_unknown);
    const size_t with = size_of(text_of(tokenizer, tokens.subspan(begin, i + 1 - begin), shows_unknown));
    size = size + with - before;
    sizes.push_back(size);
    // A token may be a part of a character, which can be decoded only together with the other parts.
    const bool is_whole = !first_invalid_utf8(alone) && alone.find("\uFFFD") == alone.npos;
    const bool begins = (is_whole && count_words(alone) > 0) || i + 1 - begin >= max_context;
    if (begins) begin = i;
    before = begins ? size_of(alone) : with;
  }
  return sizes;
}

}  // namespace

std::vector<int> words_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                 bool shows_unknown) {
  std::vector<int> words;
  for (const size_t count : sizes_of_texts(tokenizer, tokens, shows_unknown, count_words))
    words.push_back(static_cast<int>(count) - 1);
  return words;
}

std::vector<int> parts_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                 bool shows_unknown) {
  const std::string text = text_of(tokenizer, tokens, shows_unknown);
  const std::vector<TextRange> parts = word_parts(text);
  if (parts == word_ranges(text)) return words_of_tokens(tokenizer, tokens, shows_unknown);
  std::vector<size_t> ends = sizes_of_texts(tokenizer, tokens, shows_unknown, std::mem_fn(&std::string::size));
  // The texts of parts of a character may have more bytes than the character.
  for (size_t i = ends.size(); i-- > 1;) ends[i - 1] = std::min(ends[i - 1], ends[i]);
  return ranges_at(ends, parts);
}

std::vector<int> ranges_at(std::span<const size_t> ends, std::span<const TextRange> ranges) {
  std::vector<int> indices;
  size_t begun = 0;
  for (const size_t end : ends) {
    while (begun < ranges.size() && ranges[begun].begin < end) ++begun;
    indices.push_back(static_cast<int>(begun) - 1);
  }
  return indices;
}

}  // namespace sixfold
