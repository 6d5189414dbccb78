#include "serve/http/rare_warning.h"

#include <utility>

namespace sixfold::serve {

std::optional<size_t> RareWarning::add(size_t events, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  untold_ += events;
  if (last_ && now - *last_ < std::chrono::minutes(1)) return {};
  last_ = now;
  return std::exchange(untold_, 0);
}

}  // namespace sixfold::serve
