#include "model/generation_config.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace sixfold {

void visit(OptionVisitor& v, GenerationConfig& o) {
  v.field("beam_size", o.beam_size, "number of hypotheses kept for each sentence; 1: greedy search",
          between(1, 1000));
  v.field("normalization", o.normalization,
          "divisor of scores for n tokens: none, length: n^length_penalty, gnmt: ((5 + n) / 6)^length_penalty");
  v.field("length_penalty", o.length_penalty,
          "exponent of the normalization; larger values favour longer outputs", at_least(0));
  v.field("stopping_criterion", o.stopping_criterion,
          "when a search ends: best_cannot_improve, beam_finished or best_is_no_better_now (the last two are "
          "early_stopping true and false of transformers)");
  v.field("finished_keeps_slot", o.finished_keeps_slot,
          "a finished hypothesis keeps its slot, so that the beam shrinks");
  v.field("length_factor", o.length_factor,
          "an output has at most length_factor * source tokens + length_offset tokens", between(0, 1000));
  v.field("length_offset", o.length_offset, "see length_factor; both lengths include the end token",
          between(0, 1 << 24));
  v.field("at_longest", o.at_longest,
          "how an output of maximum length ends: end_symbol (an end token is appended), certain_end (one of "
          "probability 1), or cut (no end token)");
  v.field("max_new_tokens", o.max_new_tokens,
          "maximum number of tokens, end token included, below that of length_factor; 0: no other",
          at_least(0));
  v.field("min_new_tokens", o.min_new_tokens, "minimum number of tokens before the end token", at_least(0));
  v.field("word_penalty", o.word_penalty,
          "subtracted for each token before the normalization; negative: longer outputs are favoured");
  v.field("coverage_penalty", o.coverage_penalty,
          "weight in the score of a finished output of the sum of log(min(1, attention to a source token)), by "
          "the layer that aligns words; 0: off",
          at_least(0));
  v.field(
      "repetition_penalty", o.repetition_penalty,
      "penalty of tokens that the output has already: factor of their log-probability in beam search, and of "
      "their logit otherwise; 1: off",
      above(0));
  v.field("no_repeat_ngram", o.no_repeat_ngram,
          "an output never has an n-gram of this many tokens twice; 0: off", at_least(0));
  v.field("suppress_tokens", o.suppress_tokens, "ids of tokens that are never generated", at_least(0));
  v.field("begin_suppress_tokens", o.begin_suppress_tokens,
          "ids of tokens that no output begins with, after forced_first_token", at_least(0));
  v.field("suppress_phrases", o.suppress_phrases, "lists of ids: phrases that are never generated",
          at_least(0));
  v.field("forced_first_token", o.forced_first_token,
          "id of the token that every output begins with, whatever its probability; -1: none", at_least(-1));
  v.field("allow_unk", o.allow_unk, "generate the unknown token where it is the likeliest");
  v.field("renormalize_logits", o.renormalize_logits,
          "normalize the probabilities over the tokens that are allowed");
  v.field("start_before_text", o.start_before_text,
          "a language model reads the start token before a prompt; false: only if there is no prompt");
  v.field(
      "alignment_layer", o.alignment_layer,
      "decoder layer whose cross-attention aligns words, from 0, or from the last with -1, -2, ...; -2, the "
      "last but one: measured when training ends");
}

int max_output_length(const GenerationConfig& rules, int source_tokens) {
  constexpr double no_limit = 1 << 30;
  const double longest = std::floor(double{rules.length_factor} * source_tokens) + rules.length_offset;
  return static_cast<int>(std::clamp(longest, 1.0, rules.max_new_tokens > 0 ? rules.max_new_tokens : no_limit));
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

void check_normalization(const GenerationConfig& given, const GenerationConfig& usual) {
  require(given.normalization != ScoreNormalization::none || given.length_penalty == usual.length_penalty,
          "normalization is none, so that length_penalty has no effect; leave one of them out");
}

}  // namespace sixfold
