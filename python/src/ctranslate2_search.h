#pragma once
#include <memory>
#include <vector>

#include "base/options.h"
#include "model/config.h"
#include "search/reading_window.h"
#include "search/restriction.h"
#include "search/strategy.h"

namespace sixfold::python {

/// The search options of a call of CTranslate2. Fields have its names, as far as it has the option.
struct Ct2Options {
  int beam_size = 2;
  int max_finished = 2;  ///< the search ends with so many finished hypotheses: beam_size * patience
  int num_hypotheses = 1;
  double length_penalty = 1;
  float repetition_penalty = 1;
  int no_repeat_ngram_size = 0;
  std::vector<std::vector<int>> suppress_sequences;  ///< ids
  int max_decoding_length = 256, min_decoding_length = 1;
};
void visit(OptionVisitor& v, Ct2Options& o);

/// The settings that all sources of a call share. Safe to share between threads.
struct Ct2Plan {
  /// Throws an input error if the options do not fit the model.
  Ct2Plan(const ModelConfig& model, const Ct2Options& search_options);

  Ct2Options options;
  int vocab, eos, context;
  WindowStart start;
  std::vector<std::unique_ptr<const Restriction>> restrictions;
};

/// The beam search of CTranslate2 4.8 (its src/decoding.cc), for one source. It has rules that no setting of
/// `BeamSearch` gives: repeated tokens are penalized before the softmax; the probability of a prefix counts as
/// 1; an end token right after a prefix counts only if it is the likeliest token; and the search ends when
/// there are `max_finished` finished hypotheses, or, without a length penalty, when the best candidate of a
/// step is finished.
class Ct2Search final : public Strategy {
 public:
  /// The decoder reads the start token and `context`, which is no part of the hypotheses. These begin with
  /// `prefix`, which must be shorter than `max_decoding_length`.
  Ct2Search(std::shared_ptr<const Ct2Plan> plan, std::vector<int32_t> context, std::vector<int32_t> prefix);

  void ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) override;
  void advance(std::span<const Answer> answers) override;
  bool done() const override { return live_.empty(); }
  std::vector<Hypothesis> take_best() override;

 private:
  struct Live {
    std::vector<int32_t> ids;
    int parent = 0;
    double sum = 0;
  };
  struct Candidate {
    double sum;
    size_t parent;
    int32_t id;
  };
  std::vector<int32_t> text_of(const Live& hypothesis) const;
  void rank(std::span<const Answer> answers);
  void step();
  void finish(std::vector<int32_t> ids, double sum, FinishReason reason);

  std::shared_ptr<const Ct2Plan> plan_;
  const std::vector<int32_t> context_;
  const size_t prefix_;  // number of tokens
  ReadingWindow window_;
  std::vector<std::vector<int32_t>>
      window_tokens_;  // what each hypothesis reads in a step that begins a window
  std::vector<Live> live_;
  std::vector<LogitEdits> edits_;  // of the unfinished hypotheses
  std::vector<Candidate> ranked_;
  std::vector<Hypothesis> finished_;
  bool best_finished_ = false;  // whether the best candidate of a step was finished
  bool broken_ = false;         // whether a log-probability was NaN
};

}  // namespace sixfold::python
