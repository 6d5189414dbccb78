#pragma once
#include <cstddef>
#include <string_view>

namespace sixfold {

/// The number of bytes at the beginning of `text` that are the code of a language: two or three small letters,
/// which a region or script may follow ("de", "pt-BR", "zh-Hant"); 0 if there is none.
size_t language_code_length(std::string_view text);

inline bool is_language_code(std::string_view text) {
  return !text.empty() && language_code_length(text) == text.size();
}

}  // namespace sixfold
