#include "base/language_code.h"

namespace sixfold {
namespace {

bool is_lowercase(char c) { return 'a' <= c && c <= 'z'; }
bool is_uppercase(char c) { return 'A' <= c && c <= 'Z'; }

}  // namespace

size_t language_code_length(std::string_view text) {
  size_t length = 0;
  while (length < text.size() && is_lowercase(text[length])) ++length;
  if (length < 2 || length > 3) return 0;
  if (length + 1 >= text.size() || text[length] != '-' || !is_uppercase(text[length + 1])) return length;
  size_t end = length + 1;
  while (end < text.size() && (is_lowercase(text[end]) || is_uppercase(text[end]))) ++end;
  return end;
}

std::optional<LanguagePair> language_pair(std::string_view text) {
  const size_t source = language_code_length(text);
  if (source == 0 || source >= text.size() || text[source] != '-') return std::nullopt;
  const std::string_view target = text.substr(source + 1);
  if (!is_language_code(target)) return std::nullopt;
  return LanguagePair{std::string(text.substr(0, source)), std::string(target)};
}

}  // namespace sixfold
