#pragma once
#include <memory>

#include "generate/beam.h"
#include "generate/reading_window.h"
#include "generate/restriction.h"
#include "generate/strategy.h"

namespace sixfold {

/// The settings of beam search that all sources of a call share. Safe to share between threads.
struct BeamPlan {
  /// Throws an input error if the rules do not fit the model. `n_best`: number of hypotheses to return, at most
  /// the beam size.
  BeamPlan(const ModelConfig& model, const GenerationConfig& rules, int n_best);

  /// Completes the shortlist of a source: adds to `ids`, in ascending order, the end token and the tokens of
  /// the lowest ids that beam search needs to have enough candidates.
  std::vector<int32_t> complete(std::vector<int32_t> ids) const;

  GenerationConfig rules;
  int n_best, vocab;
  WindowStart start;
  int32_t eos;
  int candidates;  ///< number of most probable tokens to query for each hypothesis
  int context;     ///< `ModelConfig::context_tokens`
  int longest;     ///< number of tokens, including the end token, that the model has positions for
  std::vector<std::unique_ptr<const Restriction>> restrictions;

 private:
  size_t most_banned_;
};

/// Beam search (`Beam`) as a strategy, under the restrictions of the plan.
class BeamSearch final : public Strategy {
 public:
  /// `source_tokens`: number of tokens of the source with its end token, which bounds the length of the output.
  BeamSearch(std::shared_ptr<const BeamPlan> plan, int source_tokens);
  /// For a language model: continues `prompt` by at most `longest` tokens, including the end token.
  BeamSearch(std::shared_ptr<const BeamPlan> plan, std::vector<int32_t> prompt, int longest);

  void ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) override;
  void advance(std::span<const Answer> answers) override;
  bool done() const override { return beam_.done(); }
  std::vector<Hypothesis> take_best() override { return beam_.take_best(); }

 private:
  std::vector<int32_t> text_of(const LiveHypothesis& hypothesis) const;

  std::shared_ptr<const BeamPlan> plan_;
  Beam beam_;
  std::vector<int32_t> prompt_;
  ReadingWindow window_;                      // of all unfinished hypotheses, which have equal lengths
  std::vector<std::vector<int32_t>> begins_;  // what each reads if the window begins
  std::vector<LogitEdits> edits_;             // of the unfinished hypotheses
  std::vector<int32_t> ids_;                  // of all answers, concatenated
  std::vector<float> log_probs_;
};

}  // namespace sixfold
