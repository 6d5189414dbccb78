#pragma once
#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace sixfold {

/// A count with its noun: "1 thread", "2 threads". `plural` is given where it is not the noun with an s.
template <std::integral Count>
std::string counted(Count count, std::string_view noun, std::string_view plural = {}) {
  if (count == 1) return fmt::format("{} {}", count, noun);
  return plural.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, plural);
}

}  // namespace sixfold
