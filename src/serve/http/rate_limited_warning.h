#pragma once
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace sixfold::serve {

/// Counts events for a warning that is logged at most once a minute. Safe to share between threads.
class RateLimitedWarning {
 public:
  using Clock = std::chrono::steady_clock;

  /// Counts events. If a warning is due, returns the number of events since the last one, which the caller then
  /// logs; otherwise returns nothing.
  std::optional<size_t> add(size_t events, Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    unreported_ += events;
    if (last_report_ && now - *last_report_ < std::chrono::minutes(1)) return {};
    last_report_ = now;
    return std::exchange(unreported_, 0);
  }

 private:
  std::mutex mutex_;
  size_t unreported_ = 0;
  std::optional<Clock::time_point> last_report_;
};

}  // namespace sixfold::serve
