#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// How many lines equal a reference.
struct ExactMatches {
  int64_t lines = 0, equal = 0;

  ExactMatches& operator+=(const ExactMatches& other) {
    lines += other.lines, equal += other.equal;
    return *this;
  }
  /// The share of lines that are equal, in percent; 0 without lines.
  double percent() const {
    return lines == 0 ? 0 : 100 * static_cast<double>(equal) / static_cast<double>(lines);
  }
};

/// Compares whole lines, byte by byte.
class ExactMatch {
 public:
  ExactMatches statistics(std::string_view hypothesis, std::span<const std::string> references) const {
    for (const std::string& reference : references)
      if (reference == hypothesis) return {1, 1};
    return {1, 0};
  }
};

}  // namespace sixfold
