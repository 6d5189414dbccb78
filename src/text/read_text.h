#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/words.h"

namespace sixfold {

/// What reads a text.
enum class TextSide {
  source,  ///< a model that reads it
  target,  ///< a model that writes such text
  exact,   ///< a language model, which reads and writes every space
};

/// A text as it is read, and for each of its bytes the part of the original that it stands for.
struct ReadText {
  std::string text;
  std::vector<TextRange> origins;  ///< ascending
};

/// Returns a text as tokenizers that were trained here read it, be it of a file, a request or the training
/// text. It is in the normalization form C (NFC), each run of white space (Unicode's White_Space) is one space,
/// and there is none at the ends. Of sources, soft hyphens, word joiners and byte order marks are left out.
/// `exact` text stays as it is. Ill-formed UTF-8 of other text becomes U+FFFD. Takes time linear
/// in the length. Throws an input error if the text has 2 GiB or more.
std::string read_text(std::string_view text, TextSide side);
/// The same with the places in the original, which must be well-formed UTF-8.
ReadText locate_text(std::string_view text, TextSide side);

/// Text in the normalization form C: each letter and its marks are one character where there is one, so that it
/// does not matter how they were typed. More than 1 KiB of marks are composed in parts.
std::string composed(std::string_view text);

}  // namespace sixfold
