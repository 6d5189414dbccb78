#pragma once
#include <chrono>
#include <mutex>

#include "base/api.h"
#include "base/histogram.h"

namespace sixfold {

/// What the batches of a model have done since it was loaded.
struct SIXFOLD_API DecodingCounts {
  int64_t source_tokens = 0;  ///< tokens of the sources and prompts of requests that entered a batch
  int64_t target_tokens = 0;  ///< tokens of the best hypotheses of requests that succeeded
  int64_t waiting = 0;        ///< requests in the queue now
  int64_t running = 0;        ///< requests in batches now
  Histogram queue_time = histogram_of_times();    ///< of requests that entered a batch
  Histogram first_token = histogram_of_times();   ///< from a request's arrival until its first step was done
  Histogram request_time = histogram_of_times();  ///< from a request's arrival until it was completed
  Histogram batch_fill;  ///< for each step, tokens in the batch as a share of those that fit

  DecodingCounts();
  /// Adds the counts of another model.
  void add(const DecodingCounts& other);
};

/// Counts what batches do. Safe to share between threads.
class DecodingStatistics {
 public:
  using Clock = std::chrono::steady_clock;

  /// Counts that a request, which arrived at `arrival`, entered a batch.
  void entered(Clock::time_point arrival, int64_t source_tokens);
  /// Counts that its first step is done.
  void first_step(Clock::time_point arrival);
  /// Counts that it left its batch, with `target_tokens` if it succeeded, else 0.
  void left(Clock::time_point arrival, int64_t target_tokens);
  /// Counts a step of a batch. `fill`: tokens in the batch as a share of those that fit.
  void step(double fill);

  /// All counts but `waiting`.
  DecodingCounts counts() const;

 private:
  mutable std::mutex mutex_;
  DecodingCounts counts_;
};

}  // namespace sixfold
