#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sixfold {

/// The code points of UTF-8 text. Throws an input error with the position of the byte if the text is not valid
/// UTF-8.
std::u32string decode_utf8(std::string_view text);

/// Valid code points as UTF-8.
std::string encode_utf8(std::u32string_view text);

/// Lower case by Unicode's full, context-dependent and language-neutral mapping (a final sigma becomes ς).
std::u32string to_lower(std::u32string_view text);

/// White space by the definition of Python's `str.split()`, which sacreBLEU uses: Unicode's White_Space and the
/// four separators U+001C to U+001F.
bool is_space(char32_t c);
/// A text without white space at its end, or at its beginning.
std::u32string_view without_space_at_end(std::u32string_view text);
std::u32string_view without_space_at_begin(std::u32string_view text);

/// One of !"#$%&'()*+,-./:;<=>?@[\]^_`{|}~.
bool is_ascii_punctuation(char32_t c);

/// The words of a text, separated by any white space, as views of the text.
std::vector<std::u32string_view> split_words(std::u32string_view text);

/// The words of a text, separated by single spaces.
std::u32string normalize_spaces(std::u32string_view text);

}  // namespace sixfold
