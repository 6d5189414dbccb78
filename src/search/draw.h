#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/draw_options.h"

namespace sixfold {

/// Instead of the id of a token that was drawn.
inline constexpr int32_t logits_not_finite = -1, all_tokens_banned = -2;

struct Drawn {
  int32_t id = logits_not_finite;
  double log_probability = 0;  ///< under the model itself: before all changes
};

/// Draws a token. `logits`: of all tokens; they are changed. `before`: the tokens that the repetition penalty
/// concerns, each once. `banned`: tokens that are not chosen. `uniform`, in [0, 1), is the random number that
/// decides. A pure function of its arguments. Equally likely tokens are ordered by their ids.
Drawn draw(std::span<float> logits, const DrawOptions& options, std::span<const int32_t> before,
           std::span<const int32_t> banned, double uniform);

/// log(sum(exp(logits))), added in order; 0 if all are -infinity.
double log_sum(std::span<const float> logits);

/// The `count` likeliest tokens under the model itself, likeliest first; fewer if there are fewer, none if a
/// logit is NaN or infinite. Equally likely ones are ordered by their ids.
std::vector<Drawn> likeliest(std::span<const float> logits, int count);

}  // namespace sixfold
