#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace sixfold {

/// Copies of pairs that a model is trained on too, so that it knows other forms of their texts.
struct MadePairs {
  double capitals = 0;  ///< share of the pairs with a copy in capital letters, of both sides
  double noise = 0;     ///< share of the pairs with a copy whose source has typing errors
  uint64_t seed = 1;

  bool any() const { return capitals > 0 || noise > 0; }
  /// The copies of a pair. They are a function of its texts and the seed.
  std::vector<std::pair<std::string, std::string>> of(const std::string& source,
                                                      const std::string& target) const;
};

/// Text in capital letters, by the rules of Unicode.
std::string in_capitals(const std::string& text);
/// Well-formed text in which about one letter in 20, and one at least if there are two, is exchanged with the
/// letter after it, left out, written twice or replaced by another letter of the text.
std::string with_typing_errors(const std::string& text, RandomStream& random);

}  // namespace sixfold
