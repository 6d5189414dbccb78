#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// What the sum of log-probabilities of a hypothesis of n symbols, its end symbol counted, is divided by.
enum class ScoreNormalization {
  none,    ///< 1
  length,  ///< n^alpha
  gnmt,    ///< ((5 + n) / 6)^alpha, of Wu et al. 2016, equation 14; section 6.1 of the paper
};

/// What ends the search for a sentence, when it has not reached its longest length.
enum class StoppingCriterion {
  best_cannot_improve,  ///< no unfinished hypothesis can still score better than the best finished one
  beam_finished,        ///< as many hypotheses have finished as the beam is wide
  /// The same, and the best unfinished one, scored as if it ended now, is no better than the worst of them.
  best_is_no_better_now,
};

/// What becomes of a hypothesis that reaches the longest length.
enum class AtLongest {
  end_symbol,   ///< it gets the end symbol as its last one, with the probability that the model gives it
  certain_end,  ///< likewise, but as if certain: its score stays as it is
  cut,          ///< it counts as finished with what it has, no end symbol
};

template <>
struct EnumNames<ScoreNormalization> {
  static constexpr std::pair<ScoreNormalization, std::string_view> names[] = {
      {ScoreNormalization::none, "none"},
      {ScoreNormalization::length, "length"},
      {ScoreNormalization::gnmt, "gnmt"}};
};

template <>
struct EnumNames<StoppingCriterion> {
  static constexpr std::pair<StoppingCriterion, std::string_view> names[] = {
      {StoppingCriterion::best_cannot_improve, "best_cannot_improve"},
      {StoppingCriterion::beam_finished, "beam_finished"},
      {StoppingCriterion::best_is_no_better_now, "best_is_no_better_now"}};
};

template <>
struct EnumNames<AtLongest> {
  static constexpr std::pair<AtLongest, std::string_view> names[] = {
      {AtLongest::end_symbol, "end_symbol"}, {AtLongest::certain_end, "certain_end"}, {AtLongest::cut, "cut"}};
};

/// The rules of search that a model is made for; stored with it. The defaults are those of section 6.1 of the
/// paper.
struct GenerationConfig {
  int beam_size = 4;
  ScoreNormalization normalization = ScoreNormalization::gnmt;
  float length_penalty = 0.6f;
  StoppingCriterion stopping_criterion = StoppingCriterion::best_cannot_improve;
  bool finished_keeps_slot = false;
  float length_factor = 1;
  int length_offset = 50;
  AtLongest at_longest = AtLongest::end_symbol;
  std::vector<int> suppress_tokens;
  int min_new_tokens = 0;
  bool renormalize_logits = false;
};

template <class Visitor>
void visit(Visitor& v, GenerationConfig& o) {
  v.field("beam_size", o.beam_size, "hypotheses kept for each sentence", between(1, 1000));
  v.field("normalization", o.normalization,
          "what scores are divided by, n being the length: none, length: n^penalty, gnmt: ((5+n)/6)^penalty");
  v.field("length_penalty", o.length_penalty,
          "the exponent of the normalization; a larger one favours longer output", at_least(0));
  v.field("stopping_criterion", o.stopping_criterion,
          "when a search ends: best_cannot_improve, beam_finished or best_is_no_better_now");
  v.field("finished_keeps_slot", o.finished_keeps_slot,
          "a finished hypothesis leaves its slot of the beam empty");
  v.field("length_factor", o.length_factor, "an output has at most factor * source tokens + offset tokens",
          at_least(0));
  v.field("length_offset", o.length_offset, "both lengths counted with their end symbols", at_least(0));
  v.field("at_longest", o.at_longest,
          "a hypothesis gets its end_symbol, certain_end (as if of probability 1), or is cut");
  v.field("suppress_tokens", o.suppress_tokens, "ids that are never generated", at_least(0));
  v.field("min_new_tokens", o.min_new_tokens, "tokens that an output must have before it may end", at_least(0));
  v.field("renormalize_logits", o.renormalize_logits,
          "tokens that may not come leave their probability to those that may");
}

}  // namespace sixfold
