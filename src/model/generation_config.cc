#include "model/generation_config.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace sixfold {

int longest_output(const GenerationConfig& rules, int source_tokens) {
  constexpr double most = 1 << 30;
  const double longest = std::floor(double{rules.length_factor} * source_tokens) + rules.length_offset;
  return static_cast<int>(std::clamp(longest, 1.0, rules.max_new_tokens > 0 ? rules.max_new_tokens : most));
}

void validate(const GenerationConfig& rules, int vocab) {
  check_ranges(rules);
  const auto require_tokens = [&](std::string_view key, std::span<const int> ids) {
    for (const int id : ids)
      require(id < vocab, "generation.{}: the id {} is not in the vocabulary of {} tokens", key, id, vocab);
  };
  require_tokens("suppress_tokens", rules.suppress_tokens);
  require_tokens("begin_suppress_tokens", rules.begin_suppress_tokens);
  require_tokens("forced_first_token", {&rules.forced_first_token, 1});
  for (const std::vector<int>& phrase : rules.suppress_phrases) {
    require(!phrase.empty(), "generation.suppress_phrases: a phrase has no tokens");
    require_tokens("suppress_phrases", phrase);
  }
  require(rules.repetition_penalty == 1 || !rules.renormalize_logits,
          "generation.repetition_penalty is {} and renormalize_logits is true; set one of them back",
          rules.repetition_penalty);
}

}  // namespace sixfold
