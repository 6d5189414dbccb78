#pragma once
#include <functional>
#include <memory>
#include <string>

#include "model/config.h"
#include "search/draw.h"
#include "search/reading_window.h"
#include "search/repetition_draft.h"
#include "search/restriction.h"
#include "search/strategy.h"

namespace sixfold {

/// Receives each token that is drawn, except the end token. An observer does not change what is drawn.
class DrawObserver {
 public:
  virtual ~DrawObserver() = default;
  /// `answer`: the token, then the likeliest ones in its place, with the log-probabilities of the model.
  /// `before`: the prompt and the tokens before it. Called by the thread that decodes.
  virtual void see(std::span<const int32_t> before, const Answer& answer) = 0;
  /// Receives the prompt once, before all other tokens, if `SamplingPlan::shows_prompt`. `Answer::given` has
  /// the log-probabilities of its tokens; that of the first one is missing if no token is read before it.
  virtual void see_prompt(std::span<const int32_t> /*prompt*/, const Answer& /*answer*/) {}
};

/// The settings of sampling that all prompts of a call share. Safe to share between threads.
struct SamplingPlan {
  /// `rules`: which tokens are forbidden. `more_ends`: tokens besides that of the model that end a text. Throws
  /// an input error if the options do not fit the model.
  SamplingPlan(const ModelConfig& model, const GenerationConfig& rules, const DrawOptions& options,
               uint64_t seed, const std::vector<int32_t>& more_ends = {});

  DrawOptions draw;
  uint64_t seed;
  int likeliest = 0;          ///< number of likeliest tokens that observers receive
  bool shows_prompt = false;  ///< whether observers receive the prompt
  /// Whether the prompt begins the output, as that of a translation does; false: the output follows it.
  bool prompt_is_output;
  int draft_tokens = 0;  ///< maximum number of guesses of a step (`RepetitionDraft`); the texts stay the same
  size_t certain = 0;    ///< number of first tokens of such a prompt whose probability counts as 1
  WindowStart start;
  std::vector<int32_t> ends;  ///< each of them ends a text
  int context;
  Restrictions restrictions;  ///< they apply to the prompt and the tokens after it
};

/// Called after each token that is drawn, with the prompt and the tokens after it. Returns whether the text is
/// complete.
using StopCriterion = std::function<bool(std::span<const int32_t> text)>;

/// Draws one text after a prompt, token by token. Its random numbers are a function of the plan's seed,
/// `sample` and the position of the token only. With a temperature of 0 this is greedy search. A step also
/// reads guesses of the next tokens (`SamplingPlan::draft_tokens`) and draws a token after each of them; the
/// draws are used as far as they are what was guessed, and one further.
class Sampling final : public Strategy {
 public:
  /// Draws at most `max_tokens` tokens. It may be 0 only if an observer receives the prompt, or if the prompt
  /// is output. The observer, or null, must outlive the strategy.
  Sampling(std::shared_ptr<const SamplingPlan> plan, std::vector<int32_t> prompt, int max_tokens,
           uint64_t sample, DrawObserver* observer = nullptr, StopCriterion stops = nullptr);

  void share_step(size_t requests) override { requests_ = requests; }
  void ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) override;
  void advance(std::span<const Answer> answers) override;
  bool done() const override { return done_; }
  std::span<const int32_t> settled() const override { return text_; }
  std::vector<Hypothesis> take_best() override;

 private:
  std::span<const int32_t> generated() const { return std::span(text_).subspan(prompt_); }
  bool at_prompt() const { return text_.size() == prompt_; }
  /// What the query about one token refers to.
  struct Question {
    LogitEdits edits;
    std::vector<int32_t> used;  ///< the tokens of the text before it, each once, ascending
    DrawQuery draw;
  };
  size_t add_guesses(bool begins);
  void add_query(size_t length, size_t tokens_behind, Question& question, std::vector<Query>& queries) const;
  void take(const Answer& answer);
  void finish(FinishReason reason);

  std::shared_ptr<const SamplingPlan> plan_;
  size_t prompt_;  // number of tokens of the prompt
  std::vector<int32_t>
      text_;  // the prompt and what follows it; between `ask` and `advance` the guesses as well
  std::vector<int32_t> used_;  // the tokens of the text, each once, ascending, if they are penalized
  int max_tokens_;
  uint64_t sample_;
  DrawObserver* observer_;
  StopCriterion stops_;  // or null
  ReadingWindow window_;
  std::vector<int32_t> window_tokens_;  // the tokens that are read in a step that begins a window
  RepetitionDraft draft_;
  size_t requests_ = 1;  // of the step
  size_t guesses_ = 0;   // number of guesses at the end of the text
  int wrong_ = 0;        // number of guesses of the last step that were wrong
  std::vector<Question> questions_;
  Hypothesis result_;
  bool done_ = false, failed_ = false;
};

/// Draws several outputs for one source, which are decoded at the same time.
class Samples final : public Strategy {
 public:
  /// Each output begins with `prefix`. `samples`: for each output, the number that its random numbers follow
  /// from
  /// (`Sampling`). `rules`: how outputs are scored. `longest`: maximum number of tokens of an output, without
  /// the end token.
  Samples(std::shared_ptr<const SamplingPlan> plan, const GenerationConfig& rules,
          const std::vector<int32_t>& prefix, int longest, std::span<const uint64_t> samples);

  void ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) override;
  void advance(std::span<const Answer> answers) override;
  bool done() const override;
  std::vector<Hypothesis> take_best() override;

 private:
  GenerationConfig rules_;
  std::vector<Sampling> outputs_;
  std::vector<int> places_;  // the index of each output among the extensions of the last step
};

}  // namespace sixfold
