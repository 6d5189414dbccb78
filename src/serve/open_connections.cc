#include "serve/open_connections.h"

#include <sys/socket.h>

namespace sixfold::serve {

OpenConnections::Open::Open(OpenConnections& all, int socket) : all_(all), socket_(socket) {
  const std::lock_guard lock(all_.mutex_);
  place_ = all_.all_.insert(all_.all_.end(), this);
}

OpenConnections::Open::~Open() {
  const std::lock_guard lock(all_.mutex_);
  all_.all_.erase(place_);
}

void OpenConnections::Open::waits() {
  const std::lock_guard lock(all_.mutex_);
  waits_since_ = Clock::now();
  has_body_ = false;
}

void OpenConnections::Open::waits_for_body() {
  const std::lock_guard lock(all_.mutex_);
  has_body_ = true;
}

void OpenConnections::Open::has_request() {
  const std::lock_guard lock(all_.mutex_);
  waits_since_.reset();
}

bool OpenConnections::Open::was_ended() {
  const std::lock_guard lock(all_.mutex_);
  return ended_;
}

/// With `other_than` only bodies end. The lock is held, so that the socket is not closed meanwhile.
bool OpenConnections::end_oldest(const Open* other_than) {
  const std::lock_guard lock(mutex_);
  Open* oldest = nullptr;
  for (Open* one : all_) {
    if (!one->waits_since_ || (other_than && (!one->has_body_ || one == other_than))) continue;
    if (!oldest || *one->waits_since_ < *oldest->waits_since_) oldest = one;
  }
  if (!oldest || Clock::now() - *oldest->waits_since_ < patience_) return false;
  ::shutdown(oldest->socket_, SHUT_RD);
  oldest->waits_since_.reset();  // it is not chosen again
  oldest->ended_ = true;
  return true;
}

}  // namespace sixfold::serve
