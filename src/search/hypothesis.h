#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/api.h"

namespace sixfold {

/// Why a hypothesis is finished.
enum class FinishReason {
  end_token,    ///< the end token was chosen
  forced_end,   ///< the end token was appended at the maximum length, whatever its probability
  cut,          ///< it has no end token: it reached the maximum length, or no token was allowed to follow
  stop_string,  ///< the stop criterion of the call was met, such as a stop string in its text
};

/// "end", "stop" (a stop string) or "length".
SIXFOLD_API const char* name_of(FinishReason reason);

/// An output of decoding for one source.
struct Hypothesis {
  std::vector<int32_t> ids;    ///< without start token and end token
  double log_probability = 0;  ///< sum over `ids` and the end token
  double score = 0;            ///< `log_probability`, normalized as `GenerationConfig::normalization` says
  FinishReason reason = FinishReason::end_token;
  /// Indices of the phrases (`LexicalConstraints`) that it does not contain as often as required.
  std::vector<size_t> unmet = {};
};

/// Whether the ids end in a repetition: the same 1 to 8 tokens at least four times in a row. This is typical of
/// models that fail to generate the end token.
SIXFOLD_API bool ends_in_a_loop(const std::vector<int32_t>& ids);

}  // namespace sixfold
