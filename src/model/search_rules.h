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
  google,  ///< ((5 + n) / 6)^alpha, of Wu et al. 2016, equation 14; section 6.1 of the paper
};

/// What ends the search for a sentence, when it has not reached its longest length.
enum class SearchEnd {
  best_cannot_improve,  ///< no unfinished hypothesis can still score better than the best finished one
  beam_finished,        ///< as many hypotheses have finished as the beam is wide
};

template <>
struct EnumNames<ScoreNormalization> {
  static constexpr std::pair<ScoreNormalization, std::string_view> names[] = {
      {ScoreNormalization::none, "none"},
      {ScoreNormalization::length, "length"},
      {ScoreNormalization::google, "google"}};
};

template <>
struct EnumNames<SearchEnd> {
  static constexpr std::pair<SearchEnd, std::string_view> names[] = {
      {SearchEnd::best_cannot_improve, "best_cannot_improve"}, {SearchEnd::beam_finished, "beam_finished"}};
};

/// The rules of search that a model is made for; stored with it. The defaults are those of section 6.1 of the
/// paper.
struct SearchRules {
  int beam_size = 4;
  ScoreNormalization normalization = ScoreNormalization::google;
  float alpha = 0.6f;
  SearchEnd end = SearchEnd::best_cannot_improve;
  bool finished_keeps_slot = false;
  float length_factor = 1;
  int length_offset = 50;
  std::vector<int> banned_symbols;
  int decoder_start = 1;
};

template <class Visitor>
void visit(Visitor& v, SearchRules& o) {
  v.field("beam_size", o.beam_size, "hypotheses kept for each sentence", between(1, 1000));
  v.field("normalization", o.normalization, "scores divide by: none, length: n^alpha, google: ((5+n)/6)^alpha");
  v.field("alpha", o.alpha, "the exponent of the normalization; more favours longer output", at_least(0));
  v.field("end", o.end, "of a search: best_cannot_improve, or beam_finished");
  v.field("finished_keeps_slot", o.finished_keeps_slot,
          "a finished hypothesis leaves its slot of the beam empty");
  v.field("length_factor", o.length_factor, "output ends after factor * source symbols + offset symbols",
          at_least(0));
  v.field("length_offset", o.length_offset, "both lengths counted with their end symbols", at_least(0));
  v.field("banned_symbols", o.banned_symbols, "ids that are never put out", at_least(0));
  v.field("decoder_start", o.decoder_start, "the id that the decoder begins with", at_least(0));
}

}  // namespace sixfold
