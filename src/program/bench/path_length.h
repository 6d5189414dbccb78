#pragma once
#include <cstdint>
#include <optional>

#include "model/layers/mixer.h"

namespace sixfold {

/// The maximum path length of table 1 of the paper: the number of mixers that a signal passes between the first
/// and the last of `n` tokens, at least 2, in layers that all have this reach. The steps of a sequential mixer
/// count one by one. The value is found by following, layer by layer, the places that an output reads. Where
/// both directions are possible it is the longer one. Returns nothing if no number of layers connects the two.
std::optional<int64_t> path_length(const Reach& reach, int64_t n);

/// The minimum number of sequential operations of table 1: n for a sequential mixer, otherwise 1.
int64_t sequential_operations(const Reach& reach, int64_t n);

}  // namespace sixfold
