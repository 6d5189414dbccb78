#pragma once
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>

namespace sixfold::serve {

/// Counts events of which the log has one line a minute at most. Safe to share between threads.
class RareWarning {
 public:
  using Clock = std::chrono::steady_clock;

  /// Some events have happened. Returns the number of those that the log has not told yet, if it is time for a
  /// line, which tells them.
  std::optional<size_t> add(size_t events, Clock::time_point now = Clock::now());

 private:
  std::mutex mutex_;
  size_t untold_ = 0;
  std::optional<Clock::time_point> last_;
};

}  // namespace sixfold::serve
