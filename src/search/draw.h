#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/draw_options.h"

namespace sixfold {

/// Values of `Drawn::id` if no token could be drawn.
inline constexpr int32_t logits_not_finite = -1, all_tokens_banned = -2;

struct Drawn {
  int32_t id = logits_not_finite;
  double log_probability = 0;  ///< of the model: before any penalty, ban, temperature or truncation
};

/// Draws a token. `logits`: those of all tokens; the function changes them. `before`: the tokens that the
/// repetition penalty applies to, each once. `banned`: tokens that must not be drawn. `uniform`: the random
/// number, in [0, 1), from which the token follows. The result is a pure function of the arguments. Equally
/// likely tokens are ordered by their ids.
Drawn draw(std::span<float> logits, const DrawOptions& options, std::span<const int32_t> before,
           std::span<const int32_t> banned, double uniform);

/// log(sum(exp(logits))), added in order; 0 if all are -infinity.
double log_sum_exp(std::span<const float> logits);

/// The `count` likeliest tokens of the model, likeliest first; fewer if there are fewer, none if a logit is NaN
/// or +infinity. Equally likely ones are ordered by their ids.
std::vector<Drawn> likeliest(std::span<const float> logits, int count);

}  // namespace sixfold
