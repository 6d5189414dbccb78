#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>
#include <vector>

#include "search/strategy.h"

namespace sixfold {

/// Receives the results of requests. The thread that decodes calls it; several threads may call it at the same
/// time for different requests. It must outlive its requests. Exactly one of `done` and `failed` completes a
/// request.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  /// Receives all tokens of the request that are settled so far (`Strategy::settled`). Called after each step,
  /// before `done`. If the function throws, the request fails with its exception.
  virtual void settled(size_t /*index*/, std::span<const int32_t> /*tokens*/) {}
  /// The request succeeded: its hypotheses, best first. `workspace` is that of the calling thread; it may be
  /// used until the function returns. If the function throws, `failed` is called with its exception.
  virtual void done(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) = 0;
  /// The request failed with an error, or with `Cancelled`. Must not throw.
  virtual void failed(size_t index, std::exception_ptr error) noexcept = 0;
};

/// A source to decode.
struct Request {
  /// Ids with the end token, or the values of the patches of an image (`ModelConfig::source_ids_per_row`).
  std::vector<int32_t> source;
  std::vector<int32_t> shortlist;  ///< the tokens that the output may contain, in ascending order; empty: all
  std::unique_ptr<Strategy> strategy;
  int64_t tokens = 0;  ///< its size in a batch: source tokens times hypotheses; the queue counts at least 1
  int64_t read_tokens = 0;  ///< tokens of its source or prompt, for `DecodingCounts::source_tokens`
  /// Maximum size of a batch that contains it. A single request may exceed it, and short requests beside long
  /// ones by a quarter (`RequestQueue::take`).
  int64_t batch_tokens = 0;
  uint64_t call = 0;  ///< the number of the call that it belongs to (`RequestQueue`)
  std::stop_token cancel = {};
  ResultSink* sink = nullptr;
  size_t index = 0;                                    ///< identifies the request to the sink
  std::chrono::steady_clock::time_point arrival = {};  ///< when the queue received it
};

}  // namespace sixfold
