#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// The number of bytes at the beginning of `text` that are the code of a language: two or three lower-case
/// letters, which a region or script may follow ("de", "pt-BR", "zh-Hant"); 0 if there is none.
size_t language_code_length(std::string_view text);

inline bool is_language_code(std::string_view text) {
  return !text.empty() && language_code_length(text) == text.size();
}

/// The language of the sources and that of the targets.
struct LanguagePair {
  std::string source, target;
  bool operator==(const LanguagePair&) const = default;
};

/// The languages of "en-de" or "pt-BR-en"; nothing if the text does not name two.
std::optional<LanguagePair> language_pair(std::string_view text);

}  // namespace sixfold
