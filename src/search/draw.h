#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sixfold {

class OptionVisitor;

/// How a token is drawn from the distribution of a model. The steps act in the order of the fields, as those of
/// Hugging Face's transformers do.
struct DrawOptions {
  /// Divide the positive logits of tokens that occur before by this, and multiply their negative ones by it
  /// (Keskar et al. 2019, CTRL); 1: no change.
  float repetition_penalty = 1;
  /// Divide all logits by this before the softmax; 0: always choose the likeliest token.
  float temperature = 1;
  int top_k = 0;  ///< choose among this many tokens, the likeliest; 0: all
  /// Then among the fewest likeliest tokens that have this probability (Holtzman et al. 2020); 1: all.
  float top_p = 1;
  /// Then among those with this share of the probability of the likeliest (Nguyen et al. 2024); 0: all.
  float min_p = 0;
};

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

/// The `count` likeliest tokens under the model itself, likeliest first; fewer if there are fewer, none if a
/// logit is NaN or infinite. Equally likely ones are ordered by their ids.
std::vector<Drawn> likeliest(std::span<const float> logits, int count);

void visit(OptionVisitor& v, DrawOptions& o);

}  // namespace sixfold
