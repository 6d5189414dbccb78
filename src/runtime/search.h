#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "model_folder/shortlist.h"
#include "runtime/request.h"
#include "search/beam_search.h"
#include "search/sampling.h"

namespace sixfold {

/// How outputs are drawn at random (`Samples`).
struct DrawnOutputs {
  DrawOptions draw;  ///< with the repetition penalty of the search's rules
  uint64_t seed = 1;
};

struct SearchOptions {
  GenerationConfig rules;  ///< beam_size 1 is greedy search
  int n_best = 1;  ///< number of hypotheses for each source, at most the beam size if it is a beam search
  std::optional<DrawnOutputs> drawn = {};  ///< set: outputs are drawn at random; none: beam search
  /// Maximum number of source tokens, or patches, times beam size that are decoded at once.
  int64_t batch_tokens = 4096;
  const Shortlist* shortlist = nullptr;  ///< null: all target tokens are allowed
  std::stop_token cancel = {};           ///< when stop is requested, the search throws `Cancelled`
};

/// Visits the fields that the options of several predictors have in common. No `beam_size`: that of the model's
/// generation settings. A `batch_tokens` of 0: a number that fits the size of the model.
void visit_search_fields(OptionVisitor& v, std::optional<int>& beam_size, int64_t& batch_tokens);

/// Creates requests that share options: of beam search, or of outputs that are drawn at random. Safe to share
/// between threads. The outputs that are drawn for a source are a function of its tokens and of the seed.
class SearchRequests {
 public:
  /// Throws an input error if the options do not fit the model. The shortlist must outlive the requests.
  SearchRequests(const ModelConfig& model, const SearchOptions& options);
  /// `source`: ids with the end token, or the values of the patches of an image; it must not be empty. The
  /// result goes to `sink` under `index`. The observer, or null, must outlive the request. Throws an input
  /// error if `BeamSearch` does, and if outputs are drawn and there are phrases or an observer.
  std::unique_ptr<Request> make(std::vector<int32_t> source, ResultSink& sink, size_t index,
                                const LexicalConstraints& constraints = {},
                                SearchObserver* observer = nullptr) const;
  /// Returns the tokens that the output for a source may contain, in ascending order; empty: all.
  std::vector<int32_t> allowed(const std::vector<int32_t>& source,
                               const LexicalConstraints& constraints = {}) const;

 private:
  std::unique_ptr<Strategy> strategy(const std::vector<int32_t>& source, int tokens,
                                     const LexicalConstraints& constraints, SearchObserver* observer) const;

  std::shared_ptr<const BeamPlan> beam_plan_;
  std::shared_ptr<const SamplingPlan> sampling_plan_;  // null: beam search
  int ids_per_row_;
  int64_t batch_tokens_;
  const Shortlist* shortlist_;
  std::stop_token cancel_;
};

/// Called for each source when it is finished, with its index, in any order.
using SearchResult = std::function<void(size_t index, std::vector<Hypothesis> best_first)>;

/// Searches the output of each source by beam search (`Beam`), on the calling thread. An empty source gives one
/// empty hypothesis. At the maximum length the end token is appended even if it is banned. Throws the first
/// error of a request or of `done`, and `Cancelled`.
void search(const DecodeWorkspace& decoding, const std::vector<std::vector<int32_t>>& sources,
            const SearchOptions& options, const SearchResult& done);

}  // namespace sixfold
