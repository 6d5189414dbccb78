#pragma once
#include <cstdint>
#include <vector>

namespace sixfold {

/// What decoding put out for one source.
struct Hypothesis {
  std::vector<int32_t> ids;    ///< without start and end symbol
  double log_probability = 0;  ///< the sum over ids and end symbol
  double score = 0;            ///< divided as `GenerationConfig::normalization` says
};

}  // namespace sixfold
