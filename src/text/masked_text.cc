#include "text/masked_text.h"

#include <algorithm>

#include "base/error.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// A character of the private use area that the text does not contain, to stand where a mask is.
std::string character_not_in(std::string_view text) {
  for (unsigned number = 0; number < 0x1000; ++number) {
    const std::string character{'\xEE', static_cast<char>(0x80 + (number >> 6)),
                                static_cast<char>(0x80 + (number & 0x3F))};  // from U+E000 on
    if (text.find(character) == text.npos) return character;
  }
  throw_input_error("a text with masks contains all characters from U+E000 to U+EFFF");
}

/// Whether a token can have a word and the space before it.
bool words_have_their_space(TokenizerKind kind) {
  return kind != TokenizerKind::characters && kind != TokenizerKind::bytes;
}

/// Where the white space at the end of a text begins, at `first` or after it.
size_t trailing_space(std::string_view text, size_t first) {
  size_t begin = first;
  for (size_t position = first; position < text.size();)
    if (!next_is_space(text, position)) begin = position;
  return begin;
}

/// A character that stands for a mask, and the spaces that belong to it.
struct StandIn {
  size_t spaces = 0, begin = 0, end = 0;

  bool has_part_of(const LocatedToken& token) const { return token.begin < end && token.end > begin; }
  bool has_spaces_of(const LocatedToken& token) const { return token.begin >= spaces && token.end <= begin; }
};

}  // namespace

MaskedText encode_masked(const Tokenizer& tokenizer, std::string_view text) {
  require(!first_invalid_utf8(text), "a text with masks is not valid UTF-8");
  const std::string character = character_not_in(text);
  const bool with_spaces = words_have_their_space(tokenizer.kind());
  MaskedText result;
  std::string shown;  // the text, with the character in the place of each mask
  std::vector<StandIn> all;
  size_t done = 0;
  for (size_t mark; (mark = text.find(mask_mark, done)) != text.npos; done = mark + mask_mark.size()) {
    const size_t last_end = shown.size();
    shown += text.substr(done, mark - done);
    const size_t spaces = with_spaces ? trailing_space(shown, last_end) : shown.size();
    all.push_back({spaces, shown.size(), shown.size() + character.size()});
    result.masks.push_back({.begin = mark - (shown.size() - spaces), .end = mark + mask_mark.size()});
    shown += character;
  }
  shown += text.substr(done);

  size_t next = 0;  // the first mask that has no token yet
  for (const LocatedToken& token : tokenizer.locate(shown)) {
    const size_t before = next;
    // Unknown characters side by side may be one token.
    for (; next < all.size() && all[next].has_part_of(token); ++next) {
      result.masks[next].token = result.ids.size();
      result.ids.push_back(tokenizer.unk());
    }
    const bool part_of_last = next > 0 && all[next - 1].has_part_of(token);
    const bool space_of_next = next < all.size() && all[next].has_spaces_of(token);
    if (next == before && !part_of_last && !space_of_next) result.ids.push_back(token.id);
  }
  require(next == all.size(), "the tokenizer's normalization removes the characters that stand for masks");
  return result;
}

std::string text_within(const Tokenizer& tokenizer, int32_t id) {
  const int32_t twice[] = {id, id};
  const std::string first = tokenizer.decode(std::span(twice, 1)), both = tokenizer.decode(twice);
  return both.starts_with(first) ? both.substr(first.size()) : first;
}

}  // namespace sixfold
