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

TokenWords parts_of_tokens(const Tokenizer& tokenizer, std::span<const int32_t> tokens, bool shows_unknown,
                           std::string_view shown) {
  const std::vector<TextRange> parts = word_parts(shown);
  if (parts == word_ranges(shown)) return {words_of_tokens(tokenizer, tokens, shows_unknown)};
  const std::string text = text_of(tokenizer, tokens, shows_unknown);
  std::vector<size_t> ends = sizes_of_texts(tokenizer, tokens, shows_unknown, std::mem_fn(&std::string::size));
  // The texts of parts of a character may have more bytes than the character.
  for (size_t i = ends.size(); i-- > 1;) ends[i - 1] = std::min(ends[i - 1], ends[i]);
  // Between the first and the last difference of the texts the ends are not known.
  const auto first = static_cast<size_t>(std::ranges::mismatch(text, shown).in1 - text.begin());
  const size_t most = std::min(text.size(), shown.size()) - first;
  size_t same = 0;  // bytes at the ends of both
  while (same < most && text[text.size() - 1 - same] == shown[shown.size() - 1 - same]) ++same;
  std::vector<TextRange> places;
  size_t before = 0;
  for (const size_t end : ends) {
    const size_t place = end <= first                ? end
                         : end + same >= text.size() ? end + shown.size() - text.size()
                                                     : shown.size() - same;
    places.push_back({before, place});
    before = place;
  }
  return words_of_places(places, parts);
}

TokenWords words_of_places(std::span<const TextRange> tokens, std::span<const TextRange> ranges) {
  TokenWords result;
  size_t begun = 0;  // number of ranges that have begun
  for (const TextRange& token : tokens) {
    const size_t before = begun;
    while (begun < ranges.size() && ranges[begun].begin < token.end) ++begun;
    const int last = static_cast<int>(begun) - 1;
    result.words.push_back(last);
    for (size_t i = before; i + 1 < begun; ++i)
      if (token.begin < ranges[i].end) result.shared.emplace_back(static_cast<int>(i), last);
  }
  return result;
}

}  // namespace sixfold
