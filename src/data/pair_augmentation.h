#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace sixfold {

/// Data augmentation of parallel text: a model is also trained on changed copies of some pairs, so that it
/// learns other forms of their texts.
struct PairAugmentation {
  double capitals = 0;  ///< share of the pairs that get a copy with both sides in capital letters
  double noise = 0;     ///< share of the pairs that get a copy whose source has typing errors
  uint64_t seed = 1;

  bool any() const { return capitals > 0 || noise > 0; }
  /// The copies of a pair. They are a function of its texts and the seed.
  std::vector<std::pair<std::string, std::string>> copies_of(const std::string& source,
                                                             const std::string& target) const;
};

/// The text with typing errors: about one letter in 20 is swapped with the next letter, left out, doubled, or
/// replaced by another letter of the text. A text of at least two letters gets at least one error. The text
/// must be valid UTF-8.
std::string with_typing_errors(const std::string& text, RandomStream& random);

}  // namespace sixfold
