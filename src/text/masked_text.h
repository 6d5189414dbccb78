#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
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
  std::vector<int32_t> ids;  ///< the mask, or else `Tokenizer::unk`, where the masks are
  std::vector<TextMask> masks;
};

/// Encodes a text in which each `mask_mark` stands for one token, and puts tokens into such texts. Safe to
/// share between threads.
///
/// Where a token can have a word and the space before it, as in SentencePiece, a mask stands for the spaces
/// before it too. The text around the masks has the tokens that it would have beside another word.
class MaskedTextCoder {
 public:
  /// `tokenizer` must outlive this object. `mask`: the id of the vocabulary's mask token; -1: there is none,
  /// and the unknown token takes its place.
  explicit MaskedTextCoder(const Tokenizer& tokenizer, int32_t mask = -1);

  /// Throws an input error for ill-formed UTF-8, and if a mask touches text from which the tokenizer does not
  /// separate it, such as letters beside the mask of a whole word; with a special token for masks, if the text
  /// has another special token.
  MaskedText encode(std::string_view text) const;

  /// The text of a token after other text: " word" if it has the space before the word. Bytes that are not
  /// UTF-8 become U+FFFD.
  std::string text_of(int32_t id) const;

  /// The text with tokens in the place of the masks, one for each. The tokens of masks that touch are decoded
  /// together, so that they may be the bytes of one character.
  std::string fill(std::string_view text, std::span<const TextMask> masks, std::span<const int32_t> ids) const;

 private:
  MaskedText encode_with_mask(std::string_view text) const;
  std::string bytes_of(std::span<const int32_t> ids) const;
  bool is_space(int32_t id) const;

  const Tokenizer& tokenizer_;
  int32_t mask_;
  bool tokens_have_spaces_;       // whether a token can have a word and the space before it
  std::vector<int32_t> context_;  // a token with visible text, after which others are decoded
  size_t context_bytes_ = 0;
};

}  // namespace sixfold
