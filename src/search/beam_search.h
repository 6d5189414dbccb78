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
  /// Returns the constraints; their prefix begins with the first token that the rules force, if there is one.
  /// Throws an input error if a banned phrase is empty, or if a token of the prefix is not in the vocabulary.
  LexicalConstraints completed(LexicalConstraints constraints) const;
  /// Returns the maximum length of the output of a source, with its prefix. Throws an input error if the prefix
  /// is longer than an output of the model.
  int longest_with(int source_tokens, const LexicalConstraints& constraints) const;

  GenerationConfig rules;
  int n_best, vocab;
  WindowStart start;
  int32_t eos;
  std::vector<int32_t> more_ends;
  int context;          ///< `ModelConfig::context_tokens`
  int longest;          ///< number of tokens, including the end token, that the model has positions for
  int attention_layer;  ///< the decoder layer whose attention is the coverage of sources; -1: not needed
  Restrictions restrictions;

 private:
  size_t max_banned_;  // maximum number of tokens that the rules ban in a step
};

/// Beam search (`Beam`) as a strategy, under the restrictions of the plan. If the output must contain phrases,
/// the queries of each hypothesis also list the tokens of the phrases.
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
  /// The token lists of a query if some tokens are penalized: these are both banned and listed.
  struct PenaltyLists {
    std::vector<int32_t> banned, listed;
  };
  Query query_after(const LiveHypothesis& hypothesis, LogitEdits& edits, PenaltyLists& lists) const;
  void append_answer(const Answer& answer, const LogitEdits& edits, size_t listed);

  std::shared_ptr<const BeamPlan> plan_;
  LexicalConstraints constraints_;
  PhraseSet phrases_;
  std::vector<int32_t> phrase_tokens_;  // ascending, each once
  BanPhrases ban_phrases_;
  Beam beam_;
  bool begun_ = false;  // whether the first step is done
  std::vector<int32_t> prompt_;
  ReadingWindow window_;  // of all unfinished hypotheses, which have equal lengths
  // Of each unfinished hypothesis:
  std::vector<std::vector<int32_t>> window_tokens_;  // the tokens that it reads in a step that begins a window
  std::vector<LogitEdits> edits_;
  std::vector<PenaltyLists> penalty_lists_;
  std::vector<size_t> listed_;  // number of listed tokens
  size_t answer_size_ = 0;      // that of the longest answer; the others are padded to it
  std::vector<int32_t> ids_;    // of all answers, concatenated
  std::vector<float> log_probs_;
};

}  // namespace sixfold
