#include "serve/http/open_connections.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

namespace sixfold::serve {
namespace {

constexpr std::chrono::milliseconds interval{50};

}  // namespace

OpenConnections::OpenConnections(milliseconds patience, milliseconds write_time)
    : patience_(patience),
      write_time_(write_time),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

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
  answered_until_.reset();
  held_ = 0;
}

std::stop_token OpenConnections::Open::begins(Clock::time_point until) {
  const std::lock_guard lock(all_.mutex_);
  waits_since_ = Clock::now();
  answered_until_ = until;
  stop_ = {};
  return stop_.get_token();
}

void OpenConnections::Open::holds(size_t bytes) {
  const std::lock_guard lock(all_.mutex_);
  held_ = bytes;
}

bool OpenConnections::Open::has_request(bool is_http_1_1) {
  const std::lock_guard lock(all_.mutex_);
  waits_since_.reset();
  may_be_asked_ = is_http_1_1;
  return !ended_;
}

void OpenConnections::Open::answers() {
  const std::lock_guard lock(all_.mutex_);
  may_be_asked_ = false;
}

bool OpenConnections::Open::was_ended() const {
  const std::lock_guard lock(all_.mutex_);
  return ended_;
}

bool OpenConnections::may_end(const Open& one) const {
  return !one.ended_ && one.waits_since_ && Clock::now() - *one.waits_since_ >= patience_;
}

void OpenConnections::end(Open& one) {
  ::shutdown(one.socket_, SHUT_RD);
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

void OpenConnections::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (Open* one : all_) one->stop_.request_stop();
}

void OpenConnections::cut_all() {
  const std::lock_guard lock(mutex_);
  for (const Open* one : all_)
    if (one->answered_until_) ::shutdown(one->socket_, SHUT_RDWR);
}

/// A client that has ended its input has hung up, or waits for the answer all the same. An interim answer,
/// which clients of HTTP/1.1 skip (RFC 9110, 15.2), tells: the system of a client that has hung up resets the
/// connection.
void OpenConnections::watch(Open& one) const {
  pollfd asked{one.socket_, POLLRDHUP, 0};
  const short happened = ::poll(&asked, 1, 0) > 0 ? asked.revents : short{0};
  const Clock::time_point now = Clock::now();
  if ((happened & (POLLHUP | POLLERR)) != 0 || now >= *one.answered_until_) one.stop_.request_stop();
  if (now >= *one.answered_until_ + write_time_) ::shutdown(one.socket_, SHUT_RDWR);
  if ((happened & POLLRDHUP) == 0 || !one.may_be_asked_) return;
  one.may_be_asked_ = false;
  const std::string_view question = "HTTP/1.1 100 Continue\r\n\r\n";
  const ssize_t sent = ::send(one.socket_, question.data(), question.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0 && static_cast<size_t>(sent) < question.size()) ::shutdown(one.socket_, SHUT_RDWR);
}

/// Asks each socket in turn, which takes a microsecond.
void OpenConnections::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(interval);
    const std::lock_guard lock(mutex_);
    for (Open* one : all_)
      if (one->answered_until_) watch(*one);
  }
}

}  // namespace sixfold::serve
