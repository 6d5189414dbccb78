#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// The divisor of the sum of log-probabilities of a hypothesis. n is its number of tokens, including the end
/// token; alpha is `length_penalty`.
enum class ScoreNormalization {
  none,    ///< 1
  length,  ///< n^alpha
  gnmt,    ///< ((5 + n) / 6)^alpha (Wu et al. 2016, equation 14; section 6.1 of the paper)
};

/// When the search for an output ends before the maximum length.
enum class StoppingCriterion {
  best_cannot_improve,  ///< when no unfinished hypothesis can still score better than the best finished one
  beam_finished,        ///< when as many hypotheses have finished as the beam is wide
  /// When as many hypotheses have finished as the beam is wide and the current score of the best unfinished one
  /// is no better than the worst of them.
  best_is_no_better_now,
};

/// How a hypothesis that reaches the maximum length ends.
enum class AtLongest {
  end_symbol,   ///< the end token is appended, with the probability that the model gives it
  certain_end,  ///< the end token is appended with probability 1, so that the score does not change
  cut,          ///< it counts as finished without an end token
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

/// The generation settings of a model, which are stored with it. The defaults are those of section 6.1 of the
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
  int max_new_tokens = 0;
  int min_new_tokens = 0;
  float word_penalty = 0;
  float coverage_penalty = 0;
  float repetition_penalty = 1;
  int no_repeat_ngram = 0;
  std::vector<int> suppress_tokens;
  std::vector<int> begin_suppress_tokens;
  std::vector<std::vector<int>> suppress_phrases;
  int forced_first_token = -1;
  bool allow_unk = false;
  bool renormalize_logits = false;
  bool start_before_text = true;  ///< a language model reads the start token before a prompt
  /// The decoder layer whose cross-attention aligns words, counted from 0, or from the last with -1, -2, ... It
  /// is chosen by a measurement when training ends and at import. The default is the last layer but one, or the
  /// only one (Garg et al. 2019).
  int alignment_layer = -2;
};

/// Returns the maximum number of tokens, including the end token, of the output for a source of `source_tokens`
/// tokens (including its end token): floor(length_factor * source_tokens) + length_offset, at most
/// `max_new_tokens` if that is set, and at least 1.
int max_output_length(const GenerationConfig& rules, int source_tokens);

/// Throws an input error that names the setting if a value is out of range, a token is not in the vocabulary,
/// or settings contradict each other.
void validate(const GenerationConfig& rules, int vocab);

/// Throws an input error if `given` has another length_penalty than the `usual` settings, and does not
/// normalize.
void check_normalization(const GenerationConfig& given, const GenerationConfig& usual);

void visit(OptionVisitor& v, GenerationConfig& o);

}  // namespace sixfold
