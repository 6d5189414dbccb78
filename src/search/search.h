#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include "model/shortlist.h"
#include "model/transformer.h"
#include "search/hypothesis.h"

namespace sixfold {

/// What one thread decodes with: a model, which threads may share, and a backend and buffers of the thread's
/// own.
struct DecodeWorkspace {
  /// With the model's own backend: for one thread at a time.
  DecodeWorkspace(const Transformer& shared) : DecodeWorkspace(shared, shared.backend()) {}
  /// With a backend of the same kind as the model's.
  DecodeWorkspace(const Transformer& shared, std::shared_ptr<Backend> own)
      : model(shared), backend(std::move(own)), arena(std::make_shared<Arena>(backend)) {}

  const Transformer& model;
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Arena> arena;
};

struct SearchOptions {
  GenerationConfig rules;                ///< beam_size 1 is greedy search
  int n_best = 1;                        ///< hypotheses wanted of each source, at most the beam size
  int64_t batch_tokens = 4096;           ///< source tokens times beam that are decoded at once
  const Shortlist* shortlist = nullptr;  ///< or none: all target symbols
  std::stop_token cancel = {};           ///< when it is asked for, the search throws `Cancelled`
};

/// Where searches get their sources from; several may share one.
class SourceQueue {
 public:
  struct Source {
    size_t index = 0;
    std::vector<int32_t> ids;  ///< with end symbol, or none at all
  };
  virtual ~SourceQueue() = default;
  /// The next sources, as many as have no more than `room` tokens together. A call that waits gets one at
  /// least, whatever its length, or none at the end; one that does not gets what is there now.
  virtual std::vector<Source> take(int64_t room, bool wait) = 0;
};

/// Sources that are there from the beginning.
class FixedSources final : public SourceQueue {
 public:
  /// Sources are ids with end symbol. They must outlive the queue.
  explicit FixedSources(std::span<const std::vector<int32_t>> sources) : sources_(sources) {}
  std::vector<Source> take(int64_t room, bool wait) override;

 private:
  std::span<const std::vector<int32_t>> sources_;
  std::mutex mutex_;
  size_t next_ = 0;
};

/// Is called for each source as it finishes, with its index, in any order.
using SearchResult = std::function<void(size_t index, std::vector<Hypothesis> best_first)>;

/// Translates each source, by beam search under the rules that `Beam` tells; an empty source gives one empty
/// hypothesis. Sources enter as others leave: a finished sentence's place is soon taken by the next. What a
/// source gets depends on nothing but itself. What may come next after a hypothesis is
/// told by `RestrictedOutput`; where the longest output is reached the end symbol comes even if it is banned.
void search(const DecodeWorkspace& decoding, const std::vector<std::vector<int32_t>>& sources,
            const SearchOptions& options, const SearchResult& done);
/// The same for what this search takes of a queue.
void search(const DecodeWorkspace& decoding, SourceQueue& queue, const SearchOptions& options,
            const SearchResult& done);

/// log p of each symbol of each target, its end symbol the last: targets without start and end symbol, sources
/// with end. `batch_tokens`: source and target tokens that are scored at once.
std::vector<std::vector<double>> score_targets(const DecodeWorkspace& decoding,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const std::vector<std::vector<int32_t>>& targets,
                                               int64_t batch_tokens);

}  // namespace sixfold
