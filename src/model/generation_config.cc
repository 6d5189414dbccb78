#include "model/generation_config.h"

#include <algorithm>
#include <cmath>

namespace sixfold {

int longest_output(const GenerationConfig& rules, int source_tokens) {
  constexpr double most = 1 << 30;
  const double longest = std::floor(double{rules.length_factor} * source_tokens) + rules.length_offset;
  return static_cast<int>(std::clamp(longest, 1.0, most));
}

}  // namespace sixfold
