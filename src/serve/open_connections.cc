#include "serve/open_connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <thread>

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
  held_ = 0;
}

void OpenConnections::Open::holds(size_t bytes) {
  const std::lock_guard lock(all_.mutex_);
  held_ = bytes;
}

bool OpenConnections::Open::has_request() {
  const std::lock_guard lock(all_.mutex_);
  waits_since_.reset();
  return !ended_;
}

bool OpenConnections::Open::was_ended() const {
  const std::lock_guard lock(all_.mutex_);
  return ended_;
}

bool OpenConnections::may_end(const Open& one) const {
  return one.waits_since_ && Clock::now() - *one.waits_since_ >= patience_;
}

/// The lock is held, so that the socket is not closed meanwhile.
void OpenConnections::end(Open& one) {
  ::shutdown(one.socket_, SHUT_RD);
  one.waits_since_.reset();  // it is not chosen again
  one.ended_ = true;
}

int OpenConnections::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(
      std::count_if(all_.begin(), all_.end(), [](const Open* one) { return !one->ended_; }));
}

bool OpenConnections::make_room() {
  const std::lock_guard lock(mutex_);
  Open* oldest = nullptr;
  for (Open* one : all_)
    if (may_end(*one) && (!oldest || *one->waits_since_ < *oldest->waits_since_)) oldest = one;
  if (oldest) end(*oldest);
  return oldest;
}

/// If `own` may be ended itself, it ends no smaller one.
bool OpenConnections::end_largest_body(const Open& own) {
  const std::lock_guard lock(mutex_);
  Open* largest = nullptr;
  for (Open* one : all_)
    if (one != &own && may_end(*one) && one->held_ > (largest ? largest->held_ : 0)) largest = one;
  if (largest && may_end(own) && own.held_ > largest->held_) return false;
  if (largest) end(*largest);
  return largest;
}

bool OpenConnections::make_room_for_body(const Open& own, const std::function<bool()>& enough) {
  const auto until = Clock::now() + std::chrono::seconds(1);
  std::unique_lock one(ending_bodies_, std::defer_lock);
  while (!one.try_lock_for(std::chrono::milliseconds(2)))
    if (own.was_ended() || Clock::now() >= until) return false;  // another waits for the room that `own` holds
  constexpr int moments = 50;                                    // in which a connection ends
  for (int moment = 0; !enough(); ++moment) {
    if (own.was_ended() || Clock::now() >= until) return false;
    if (moment % moments == 0 && !end_largest_body(own)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace sixfold::serve
