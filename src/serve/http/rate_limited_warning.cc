#include "serve/http/rate_limited_warning.h"

#include <utility>

namespace sixfold::serve {

std::optional<size_t> RateLimitedWarning::add(size_t events, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  unreported_ += events;
  if (last_report_ && now - *last_report_ < std::chrono::minutes(1)) return {};
  last_report_ = now;
  return std::exchange(unreported_, 0);
}

}  // namespace sixfold::serve
