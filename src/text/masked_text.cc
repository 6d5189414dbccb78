#include "text/masked_text.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// A character that the text does not contain. It takes the place of masks. It is one for private use or, since
/// the tokenizers of BERT remove those, a pattern of Braille.
std::string character_not_in(std::string_view text, const Tokenizer& tokenizer) {
  for (const unsigned first : {0xE000u, 0x2800u})
    for (unsigned code = first; code < first + 0x100; ++code) {
      const std::string character{static_cast<char>(0xE0 | code >> 12),
                                  static_cast<char>(0x80 | (code >> 6 & 0x3F)),
                                  static_cast<char>(0x80 | (code & 0x3F))};
      if (code == first && tokenizer.locate(character).empty()) break;
      if (text.find(character) == text.npos) return character;
    }
  throw_input_error(
      "the text contains all characters from U+E000 to U+E0FF and from U+2800 to U+28FF, so that none is left "
      "for masks");
}

/// The position, not before `first`, where the white space at the end of a text begins.
size_t trailing_space(std::string_view text, size_t first) {
  size_t begin = first;
  for (size_t position = first; position < text.size();)
    if (!next_is_space(text, position)) begin = position;
  return begin;
}

constexpr std::string_view touches_text =
    "a <mask> touches text that the tokenizer does not separate from it; put a space between them";

/// The positions of a character that takes the place of a mask, and of the white space before it.
struct MaskCharacter {
  size_t space = 0, begin = 0, end = 0;

  bool has_part_of(const LocatedToken& token) const { return token.begin < end && token.end > begin; }
  bool has_in_space(const LocatedToken& token) const { return token.begin >= space && token.end <= begin; }
};

/// Whether a word at this place has white space before it, or is the first.
bool needs_no_space(std::string_view text, size_t place) {
  if (place == 0) return true;
  size_t before = place - 1;
  while (before > 0 && (static_cast<unsigned char>(text[before]) & 0xC0) == 0x80) --before;
  return next_is_space(text, before);
}

}  // namespace

MaskedTextCoder::MaskedTextCoder(const Tokenizer& tokenizer, int32_t mask)
    : tokenizer_(tokenizer),
      mask_(mask),
      tokens_have_spaces_(tokenizer.kind() != TokenizerKind::characters &&
                          tokenizer.kind() != TokenizerKind::bytes) {
  for (int32_t id = 0; id < tokenizer.vocab_size() && context_.empty(); ++id) {
    const std::string text = tokenizer.decode(std::span(&id, 1));
    if (first_invalid_utf8(text) || text.find("\uFFFD") != text.npos || !has_visible_character(text)) continue;
    context_ = {id};
    context_bytes_ = text.size();
  }
}

/// The bytes of tokens that follow other text. They may be a part of a character.
std::string MaskedTextCoder::bytes_of(std::span<const int32_t> ids) const {
  std::string text;
  if (tokenizer_.kind() == TokenizerKind::whitespace) {  // keeps the "@@" of parts of words
    for (const int32_t id : ids) text += " " + tokenizer_.token_text(id);
    return text;
  }
  std::vector<int32_t> all = context_;
  all.insert(all.end(), ids.begin(), ids.end());
  text = tokenizer_.decode(all);
  return text.substr(std::min(context_bytes_, text.size()));
}

std::string MaskedTextCoder::text_of(int32_t id) const {
  return replace_invalid_utf8(bytes_of(std::span(&id, 1)));
}

bool MaskedTextCoder::is_space(int32_t id) const {
  return bytes_of(std::span(&id, 1)).find_first_not_of(' ') == std::string::npos;
}

MaskedText MaskedTextCoder::encode(std::string_view text) const {
  require(!first_invalid_utf8(text), "the text is not valid UTF-8");
  MaskedText result;
  if (text.find(mask_mark) == text.npos) {
    result.ids = tokenizer_.encode(text);
    return result;
  }
  if (mask_ >= 0) return encode_with_mask(text);
  const std::string character = character_not_in(text, tokenizer_);
  std::string substituted;  // the text with the character in place of each mask
  std::vector<MaskCharacter> characters;
  size_t done = 0;
  for (size_t mark; (mark = text.find(mask_mark, done)) != text.npos; done = mark + mask_mark.size()) {
    const size_t last_end = substituted.size();
    substituted += text.substr(done, mark - done);
    const size_t space = tokens_have_spaces_ ? trailing_space(substituted, last_end) : substituted.size();
    characters.push_back({space, substituted.size(), substituted.size() + character.size()});
    size_t begin = mark;
    while (mark - begin < substituted.size() - space && text[begin - 1] == ' ') --begin;
    result.masks.push_back({.begin = begin, .end = mark + mask_mark.size()});
    substituted += character;
  }
  substituted += text.substr(done);

  size_t next = 0;  // the index of the first mask that has no token yet
  for (const LocatedToken& token : tokenizer_.locate(substituted)) {
    size_t covered = token.begin;  // the end of the part that consists of masks and the space before them
    bool masked = false;
    for (size_t i = next > 0 ? next - 1 : 0; i < characters.size() && characters[i].begin < token.end; ++i) {
      if (!characters[i].has_part_of(token)) continue;
      masked = true;
      require(covered >= characters[i].space, "{}", touches_text);
      covered = std::max(covered, characters[i].end);
      if (i < next) continue;  // a further byte of its character
      result.masks[next++].token = result.ids.size();
      result.ids.push_back(tokenizer_.unk());
    }
    require(!masked || covered >= token.end, "{}", touches_text);
    const bool space_of_mask =
        next < characters.size() && characters[next].has_in_space(token) && is_space(token.id);
    if (!masked && !space_of_mask) result.ids.push_back(token.id);
  }
  require(next == characters.size(),
          "the tokenizer's normalization removes the characters that stand for masks");
  return result;
}

/// Lets the tokenizer find the mask token in the text, and strip the spaces beside it if the token asks for it.
MaskedText MaskedTextCoder::encode_with_mask(std::string_view text) const {
  MaskedText result;
  std::string substituted, rest;  // the text with the mask token in place of masks, and the text without masks
  size_t done = 0;
  for (size_t mark; (mark = text.find(mask_mark, done)) != text.npos; done = mark + mask_mark.size()) {
    rest.append(text.substr(done, mark - done)) += ' ';
    size_t begin = mark;
    while (begin > done && text[begin - 1] == ' ') --begin;
    result.masks.push_back({.begin = begin, .end = mark + mask_mark.size()});
    substituted.append(text.substr(done, mark - done)).append(tokenizer_.token_text(mask_));
  }
  substituted += text.substr(done);
  rest += text.substr(done);
  result.ids = tokenizer_.encode_with_special_tokens(substituted);
  size_t next = 0;
  for (size_t i = 0; i < result.ids.size() && next < result.masks.size(); ++i)
    if (result.ids[i] == mask_) result.masks[next++].token = i;
  const auto masks = std::ranges::count(result.ids, mask_);
  require(std::cmp_equal(masks, result.masks.size()) &&
              tokenizer_.encode_with_special_tokens(rest) == tokenizer_.encode(rest),
          "the text has a special token of the model besides {}; remove it", mask_mark);
  return result;
}

std::string MaskedTextCoder::fill(std::string_view text, std::span<const TextMask> masks,
                                  std::span<const int32_t> ids) const {
  std::string filled;
  size_t done = 0;
  for (size_t i = 0, end; i < masks.size(); i = end) {
    end = i + 1;
    while (end < masks.size() && masks[end].begin == masks[end - 1].end) ++end;
    std::string tokens = bytes_of(ids.subspan(i, end - i));
    if (tokens_have_spaces_ && tokens.starts_with(' ') && needs_no_space(text, masks[i].begin))
      tokens.erase(0, 1);
    filled += text.substr(done, masks[i].begin - done);
    filled += tokens;
    done = masks[end - 1].end;
  }
  filled += text.substr(done);
  return replace_invalid_utf8(filled);
}

}  // namespace sixfold
