#pragma once
#include <span>
#include <vector>

#include "model/generation_config.h"
#include "search/hypothesis.h"

namespace sixfold {

/// What the sum of log-probabilities of `length` symbols, the end symbol counted, is divided by.
double normalizer(const GenerationConfig& rules, int length);

/// The most symbols, the end symbol counted, that a source of `source_tokens` symbols (its end symbol counted)
/// may give: floor(length_factor * source_tokens) + length_offset, but at least 1.
int longest_output(const GenerationConfig& rules, int source_tokens);

/// A hypothesis that goes on.
struct LiveHypothesis {
  std::vector<int32_t> ids;   ///< so far, without the start symbol
  std::vector<int32_t> rows;  ///< of the decoder's cache: of the start symbol and all ids but the newest
  double log_probability = 0;
};

/// What a beam must know besides the rules.
struct BeamLimits {
  int eos = 2;
  int longest = 1;  ///< `longest_output`
  int n_best = 1;   ///< hypotheses wanted, at most the beam size
};

/// The search for one source. It knows nothing of the model: asked by turns which hypotheses go on, and told
/// the likeliest next symbols of each, it keeps those of the best sums of log-probabilities.
///
/// In a turn, all hypotheses' next symbols are ranked by their sums; of equals the one of the better hypothesis
/// comes first, then that of the lower id. An end symbol among the first `slots` finishes its hypothesis; one
/// of lower rank is passed over. Then, if a finished hypothesis keeps its slot, what is left of the first
/// `slots` goes on, in as many slots; else the best `slots` hypotheses that have not ended do. Slots are
/// `beam_size` at first. A beam of 1 always keeps slots: this is greedy search, over at the first end symbol.
///
/// A hypothesis that would get its `longest`-th symbol gets the end symbol, whatever its probability; where the
/// rules say `cut`, it gets what is likeliest and has then finished, with or without an end symbol.
class Beam {
 public:
  /// The rules must outlive the beam.
  Beam(const GenerationConfig& rules, const BeamLimits& limits);

  /// The hypotheses that go on, best first.
  std::vector<LiveHypothesis>& live() { return live_; }
  bool done() const { return live_.empty(); }
  /// Of the hypotheses that go on, without the start symbol.
  int length() const { return length_; }
  /// The next symbol must be the end symbol.
  bool must_end() const { return length_ + 1 == limits_.longest && rules_->at_longest != AtLongest::cut; }

  /// How many of each live hypothesis's likeliest next symbols `extend` is to be given.
  static int candidates(const GenerationConfig& rules);
  /// Ids and their log-probabilities, [live, k], each hypothesis's best first.
  void extend(std::span<const int32_t> ids, std::span<const float> log_probs);
  /// Ends every live hypothesis, given the log-probability of the end symbol after each.
  void end(std::span<const float> log_probs);

  /// The n best finished hypotheses, best first; of equals the one that finished first. None where the
  /// probabilities were no numbers.
  std::vector<Hypothesis> take_best();

 private:
  struct Candidate {
    double log_probability;
    size_t parent;
    int32_t id;
  };
  void rank(std::span<const int32_t> ids, std::span<const float> log_probs);
  void finish(const LiveHypothesis& hypothesis, double log_probability);
  void finish(const LiveHypothesis& parent, const Candidate& candidate);
  void go_on(const Candidate& candidate);
  bool can_improve() const;

  const GenerationConfig* rules_;
  BeamLimits limits_;
  size_t slots_;
  bool keeps_slot_;
  int length_ = 0;  ///< of the live hypotheses
  std::vector<LiveHypothesis> live_{1}, next_;
  std::vector<Candidate> ranked_;
  std::vector<Hypothesis> finished_;  ///< best first
};

}  // namespace sixfold
