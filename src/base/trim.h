#pragma once
#include <string_view>

namespace sixfold {

/// The text without spaces, tabs and carriage returns at both ends.
constexpr std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace sixfold
