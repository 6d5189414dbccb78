#pragma once
#include <fmt/format.h>

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

}  // namespace sixfold
