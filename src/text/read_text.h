#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/words.h"

namespace sixfold {

/// The role of a text, on which its normalization depends.
enum class TextSide {
  source,  ///< the input of a model
  target,  ///< the output of a model
  exact,   ///< a text of a language model, in which every space counts
};

/// A text after normalization, and for each of its bytes the part of the original that it stands for.
struct NormalizedText {
  std::string text;
  std::vector<TextRange> origins;  ///< in ascending order; empty if they are not traced
};

/// Returns a text as tokenizers that were trained here read it, be it of a file, a request or the training
/// text. It is in the normalization form C (NFC), each run of white space (Unicode's White_Space) is one space,
/// and there is none at the ends. Of sources, soft hyphens, word joiners and byte order marks are left out.
/// `exact` text stays as it is. Ill-formed UTF-8 of other text becomes U+FFFD. Takes time linear
/// in the length. Throws an input error if the text has 2 GiB or more.
std::string read_text(std::string_view text, TextSide side);
/// The same with the origins of its bytes. The original must be well-formed UTF-8.
NormalizedText locate_text(std::string_view text, TextSide side);

/// Text in the normalization form C: each letter and its marks are one character where there is one, so that it
/// does not matter how they were typed. More than 1 KiB of marks are composed in parts.
std::string composed(std::string_view text);

}  // namespace sixfold
