#include "search/restriction.h"

namespace sixfold {

Restrictions restrictions_of(const ModelConfig& model, const GenerationConfig& rules,
                             const std::vector<int32_t>& more_ends) {
  Restrictions all;
  if (std::vector<int32_t> never = tokens_never_generated(model, rules); !never.empty())
    all.push_back(std::make_unique<SuppressTokens>(std::move(never)));
  // A translation begins with the forced first token, if there is one; the next token is the first that is
  // chosen.
  const size_t first = rules.forced_first_token >= 0 && !model.continues_text() ? 1 : 0;
  if (!rules.begin_suppress_tokens.empty())
    all.push_back(std::make_unique<SuppressAtPlace>(rules.begin_suppress_tokens, first));
  if (!rules.suppress_phrases.empty()) all.push_back(std::make_unique<BanPhrases>(rules.suppress_phrases));
  if (rules.min_new_tokens > 0) {
    std::vector<int32_t> ends = more_ends;
    ends.push_back(model.eos);
    all.push_back(std::make_unique<MinNewTokens>(rules.min_new_tokens, std::move(ends)));
  }
  if (rules.no_repeat_ngram > 0) all.push_back(std::make_unique<NoRepeatedNgram>(rules.no_repeat_ngram));
  return all;
}

}  // namespace sixfold
