#pragma once
#include <span>
#include <vector>

#include "model/generation_config.h"
#include "search/constraints.h"
#include "search/hypothesis.h"
#include "search/search_observer.h"

namespace sixfold {

/// Returns the score of an output: the sum of its log-probabilities, less the word penalty of each token,
/// divided as `ScoreNormalization` says, plus the coverage penalty (Wu et al. 2016, equation 14): the sum of
/// log(min(coverage, 1)) over the tokens of the source. `length`: number of tokens of the output, including the
/// end token. `coverage`: for each token of the source, the sum of the attention weights that it received from
/// these tokens; it is used only if there is a coverage penalty.
double score_of(const GenerationConfig& rules, double log_probability, int length,
                std::span<const float> coverage = {});

/// An unfinished hypothesis.
struct LiveHypothesis {
  std::vector<int32_t> ids;  ///< tokens so far, without the start token
  int parent = 0;            ///< index of its parent in `live()` before the last `extend`
  double log_probability = 0;
  PhraseProgress progress = {};      ///< towards the phrases that it must contain
  std::vector<float> coverage = {};  ///< for each token of the source, its attention weights so far, summed
};

/// The settings of a beam that depend on the model and on the source.
struct BeamLimits {
  int eos = 2;
  std::span<const int32_t> more_ends = {};  ///< tokens besides `eos` that end an output
  int longest = 1;                          ///< `max_output_length`
  int n_best = 1;                           ///< number of hypotheses to return, at most the beam size
  std::span<const int32_t> prefix = {};     ///< the first tokens of each output; fewer than `longest`
  const PhraseSet* phrases = nullptr;  ///< phrases that each output must contain, or null. Outlives the beam
  SearchObserver* observer = nullptr;  ///< receives each step; may be null. Outlives the beam
};

/// The beam search for one source, independent of the model. In each step the caller reads the unfinished
/// hypotheses (`live`) and passes the most probable next tokens of each to `extend`. The beam keeps the
/// hypotheses with the highest sums of log-probabilities. For one thread at a time.
///
/// In a step, the next tokens of all hypotheses are ranked by these sums. Ties are broken by the rank of the
/// hypothesis, then by the lower token id. An end token among the first `slots` candidates finishes its
/// hypothesis; an end token of lower rank is discarded. If a finished hypothesis keeps its slot
/// (`finished_keeps_slot`), the other candidates among the first `slots` continue, and the number of slots
/// falls by the number of finished hypotheses. Otherwise the best `slots` candidates other than end tokens
/// continue. The number of slots is `beam_size` at first. With a beam size of 1, a finished hypothesis always
/// keeps its slot: this is greedy search, which ends at the first end token.
///
/// Token number `longest` of a hypothesis is the end token, whatever its probability. With `AtLongest::cut` it
/// is the most probable token instead, and the hypothesis is finished with or without an end token.
///
/// If outputs must contain phrases, the candidates are divided into banks by the number of tokens of phrases
/// that they meet (`PhraseSet::met`), and each bank has a part of the slots (`divide_beam`): dynamic beam
/// allocation (Post and Vilar 2018). In each bank, its first candidates are treated as the first `slots`
/// candidates above. An end token is no candidate before all phrases are met. There are at least as many slots
/// as banks, even if `beam_size` is smaller. So the best bank always gets a slot, and each step can meet one
/// more token.
class Beam {
 public:
  /// The rules must outlive the beam.
  Beam(const GenerationConfig& rules, const BeamLimits& limits);

  /// The unfinished hypotheses, best first.
  const std::vector<LiveHypothesis>& live() const { return live_; }
  bool done() const { return live_.empty(); }
  /// The number of tokens of the unfinished hypotheses, without the start token.
  int length() const { return length_; }
  /// Whether the next token must be the end token.
  bool must_end() const { return length_ + 1 == limits_.longest && rules_->at_longest != AtLongest::cut; }

  /// The number of most probable next tokens of each unfinished hypothesis that `extend` needs, with `ends` end
  /// tokens.
  static int candidates(const GenerationConfig& rules, const PhraseSet& phrases = {}, int ends = 1);
  /// The maximum number of hypotheses that a beam continues.
  static int width(const GenerationConfig& rules, const PhraseSet& phrases);
  /// Sets the log-probability of the prefix, before the first step.
  void set_prefix_log_probability(double log_probability) { live_.front().log_probability = log_probability; }
  /// Adds to the coverage of an unfinished hypothesis the attention of the step that computes its next token:
  /// the weight of each token of the source. To be called before `extend` or `force_end`.
  void add_coverage(size_t hypothesis, std::span<const float> attention);
  /// Continues the hypotheses. `ids` and `log_probs`, both [live, k] on the host: the most probable next tokens
  /// of each hypothesis, best first, then others. Repeated and negative ids are ignored.
  void extend(std::span<const int32_t> ids, std::span<const float> log_probs);
  /// Finishes every hypothesis, given the log-probability of the end token after each.
  void force_end(std::span<const float> log_probs);

  /// Returns the `n_best` best finished hypotheses, best first; equally good ones are in the order in which
  /// they finished. A hypothesis that lacks fewer phrases is better. Returns none if the probabilities are NaN.
  /// To be called once.
  std::vector<Hypothesis> take_best();

 private:
  struct Candidate {
    double log_probability;
    size_t parent;
    int32_t id;
    size_t bank = 0;
    PhraseProgress progress = {};
    CandidateFate fate = CandidateFate::dropped;
  };
  bool rank(std::span<const int32_t> ids, std::span<const float> log_probs);
  bool assign_bank(Candidate& candidate) const;
  std::vector<size_t> slots_of_banks() const;
  bool is_end(int32_t id) const;
  bool ends(const Candidate& candidate) const;
  void finish(const LiveHypothesis& hypothesis, double log_probability, FinishReason reason);
  void finish(const LiveHypothesis& parent, const Candidate& candidate);
  LiveHypothesis child_of(const Candidate& candidate) const;
  bool can_improve() const;
  void notify_observer() const;

  const GenerationConfig* rules_;
  BeamLimits limits_;
  size_t slots_;
  bool keeps_slot_;
  int length_;  ///< of the unfinished hypotheses
  std::vector<LiveHypothesis> live_{1}, next_;
  std::vector<Candidate> ranked_;
  std::vector<Hypothesis> finished_;  ///< best first
};

}  // namespace sixfold
