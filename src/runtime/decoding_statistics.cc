#include "runtime/decoding_statistics.h"

namespace sixfold {
namespace {

constexpr double fill_bounds[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};

double seconds_since(DecodingStatistics::Clock::time_point begin) {
  return std::chrono::duration<double>(DecodingStatistics::Clock::now() - begin).count();
}

}  // namespace

DecodingCounts::DecodingCounts() : batch_fill(fill_bounds) {}

void DecodingCounts::add(const DecodingCounts& other) {
  source_tokens += other.source_tokens;
  target_tokens += other.target_tokens;
  waiting += other.waiting;
  running += other.running;
  queue_time.add(other.queue_time);
  first_token.add(other.first_token);
  request_time.add(other.request_time);
  batch_fill.add(other.batch_fill);
}

void DecodingStatistics::entered(Clock::time_point arrival, int64_t source_tokens) {
  const std::lock_guard lock(mutex_);
  counts_.source_tokens += source_tokens;
  ++counts_.running;
  counts_.queue_time.add(seconds_since(arrival));
}

void DecodingStatistics::first_step(Clock::time_point arrival) {
  const std::lock_guard lock(mutex_);
  counts_.first_token.add(seconds_since(arrival));
}

void DecodingStatistics::left(Clock::time_point arrival, int64_t target_tokens) {
  const std::lock_guard lock(mutex_);
  counts_.target_tokens += target_tokens;
  --counts_.running;
  counts_.request_time.add(seconds_since(arrival));
}

void DecodingStatistics::step(double fill) {
  const std::lock_guard lock(mutex_);
  counts_.batch_fill.add(fill);
}

DecodingCounts DecodingStatistics::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace sixfold
