#include "program/bench/path_length.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

/// The number of layers after which an output reads an input `n - 1` places away, if each reads up to `step`
/// places in that direction.
int64_t layers_between_ends(int64_t step, int64_t n) {
  int64_t layers = 0;
  for (int64_t farthest = 0; farthest < n - 1; ++layers) farthest += std::min(step, n - 1 - farthest);
  return layers;
}

}  // namespace

std::optional<int64_t> path_length(const Reach& reach, int64_t n) {
  require(n >= 2, "a path needs two tokens, found n = {}", n);
  require(reach.left >= 0 && reach.right >= 0, "a mixer reads {} places to the left and {} to the right",
          reach.left, reach.right);
  if (reach.left == 0 && reach.right == 0) return std::nullopt;
  if (reach.sequential) return n;  // within one layer
  int64_t longest = 0;
  for (const int64_t step : {reach.left, reach.right})
    if (step > 0) longest = std::max(longest, layers_between_ends(step, n));
  return longest;
}

int64_t sequential_operations(const Reach& reach, int64_t n) { return reach.sequential ? n : 1; }

}  // namespace sixfold
