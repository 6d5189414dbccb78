#pragma once
#include <memory>

#include "search/beam.h"
#include "search/reading_window.h"
#include "search/restriction.h"
#include "search/strategy.h"

namespace sixfold {

/// The settings of beam search that all sources of a call share. Safe to share between threads.
struct BeamPlan {
  /// Throws an input error if the rules do not fit the model. `n_best`: number of hypotheses to return, at most
  /// the beam size. `more_ends`: tokens besides that of the model that end an output.
  BeamPlan(const ModelConfig& model, const GenerationConfig& rules, int n_best,
           const std::vector<int32_t>& more_ends = {});

  /// Completes the shortlist of a source: adds to `ids`, in ascending order, the end token, the tokens that the
  /// output must have, and the tokens of the lowest ids that beam search needs to have enough candidates.
  std::vector<int32_t> complete(std::vector<int32_t> ids, const LexicalConstraints& constraints = {}) const;
  /// Returns the constraints with the first token that the rules force. Throws an input error unless banned
  /// phrases have tokens and the prefix has those of the vocabulary.
  LexicalConstraints completed(LexicalConstraints constraints) const;
  /// Throws an input error if the output of a source with these numbers of tokens can't have the prefix.
  int longest_with(int source_tokens, const LexicalConstraints& constraints) const;

  GenerationConfig rules;
  int n_best, vocab;
  WindowStart start;
  int32_t eos;
  std::vector<int32_t> more_ends;
  int context;          ///< `ModelConfig::context_tokens`
  int longest;          ///< number of tokens, including the end token, that the model has positions for
  int attention_layer;  ///< the decoder layer that tells the coverage of sources; -1: it does not count
  Restrictions restrictions;

 private:
  size_t most_banned_;
};

/// Beam search (`Beam`) as a strategy, under the restrictions of the plan. If the output must contain phrases,
/// their tokens are queried for each hypothesis too.
class BeamSearch final : public Strategy {
 public:
  /// `source_tokens`: number of tokens of the source with its end token, which bounds the length of the output.
  /// Throws an input error if a constraint is empty, or if the prefix is longer than an output of the model.
  /// The observer, or null, outlives the search.
  BeamSearch(std::shared_ptr<const BeamPlan> plan, int source_tokens, LexicalConstraints constraints = {},
             SearchObserver* observer = nullptr);
  /// For a language model: continues `prompt` by at most `longest` tokens, including the end token.
  BeamSearch(std::shared_ptr<const BeamPlan> plan, std::vector<int32_t> prompt, int longest);

  void ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) override;
  void advance(std::span<const Answer> answers) override;
  bool done() const override { return beam_.done(); }
  std::vector<Hypothesis> take_best() override { return beam_.take_best(); }

 private:
  std::vector<int32_t> text_of(const LiveHypothesis& hypothesis) const;
  /// What is asked for instead of the edits and the tokens of phrases, where tokens are penalized.
  struct AskedTokens {
    std::vector<int32_t> banned, listed;
  };
  Query query_after(const LiveHypothesis& hypothesis, LogitEdits& edits, AskedTokens& asked) const;
  void take(const Answer& answer, const LogitEdits& edits, size_t listed);

  std::shared_ptr<const BeamPlan> plan_;
  LexicalConstraints constraints_;
  PhraseSet phrases_;
  std::vector<int32_t> phrase_tokens_;  // ascending, each once
  BanPhrases ban_phrases_;
  Beam beam_;
  bool begun_ = false;
  std::vector<int32_t> prompt_;
  ReadingWindow window_;                      // of all unfinished hypotheses, which have equal lengths
  std::vector<std::vector<int32_t>> begins_;  // what each reads if the window begins
  std::vector<LogitEdits> edits_;             // of the unfinished hypotheses
  std::vector<AskedTokens> asked_;            // the same
  std::vector<size_t> listed_;                // the numbers of their listed tokens
  size_t answers_size_ = 0;                   // of the longest answer, to which the others are filled up
  std::vector<int32_t> ids_;                  // of all answers, concatenated
  std::vector<float> log_probs_;
};

}  // namespace sixfold
