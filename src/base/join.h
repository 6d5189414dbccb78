#pragma once
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace sixfold {

/// The elements as text, separated by `separator`. (With fmt::join, g++ 12 warns about fmt's own code at -O3.)
template <class Range>
std::string join(const Range& range, std::string_view separator = ", ") {
  std::string text;
  bool first = true;
  for (const auto& element : range) {
    if (!first) text += separator;
    text += fmt::format("{}", element);
    first = false;
  }
  return text;
}

/// Names in a sentence: "a, b and c" with the last word "and".
template <class Range>
std::string join_words(const Range& range, std::string_view last_word) {
  std::string text;
  size_t left = std::size(range);
  for (const auto& element : range) {
    text += fmt::format("{}", element);
    if (--left > 0) text += left == 1 ? fmt::format(" {} ", last_word) : ", ";
  }
  return text;
}

}  // namespace sixfold
