#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// How a mask is written in a text.
inline constexpr std::string_view mask_mark = "<mask>";

/// A mask, which stands for one token.
struct TextMask {
  size_t token = 0;           ///< its place among the ids
  size_t begin = 0, end = 0;  ///< the bytes of the text that the token's text replaces
};

/// A text with masks, as a masked language model reads it.
struct MaskedText {
  std::vector<int32_t> ids;  ///< `Tokenizer::unk` where the masks are
  std::vector<TextMask> masks;
};

/// Encodes a text in which each `mask_mark` stands for one token. Where tokens begin with the space before a
/// word, as in SentencePiece, a mask stands for the spaces before it too. The text around the masks has the
/// tokens that it would have beside another word. Throws an input error for ill-formed UTF-8.
MaskedText encode_masked(const Tokenizer& tokenizer, std::string_view text);

/// The text of a token after other text: " word" where tokens begin with the space before a word.
std::string text_within(const Tokenizer& tokenizer, int32_t id);

}  // namespace sixfold
