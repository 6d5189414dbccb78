#include "serve/http/open_connections.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

namespace sixfold::serve {
namespace {

constexpr std::chrono::milliseconds check_interval{50};

}  // namespace

OpenConnections::OpenConnections(milliseconds min_wait, milliseconds write_time)
    : min_wait_(min_wait),
      write_time_(write_time),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

OpenConnections::Entry::Entry(OpenConnections& all, int socket) : all_(all), socket_(socket) {
  const std::lock_guard lock(all_.mutex_);
  position_ = all_.all_.insert(all_.all_.end(), this);
}

OpenConnections::Entry::~Entry() {
  const std::lock_guard lock(all_.mutex_);
  all_.all_.erase(position_);
}

void OpenConnections::Entry::set_waiting() {
  const std::lock_guard lock(all_.mutex_);
  waiting_since_ = Clock::now();
  deadline_.reset();
  held_bytes_ = 0;
}

std::stop_token OpenConnections::Entry::begin_request(Clock::time_point deadline) {
  const std::lock_guard lock(all_.mutex_);
  waiting_since_ = Clock::now();
  deadline_ = deadline;
  stop_ = {};
  return stop_.get_token();
}

void OpenConnections::Entry::set_held_bytes(size_t bytes) {
  const std::lock_guard lock(all_.mutex_);
  held_bytes_ = bytes;
}

bool OpenConnections::Entry::complete_request(bool is_http_1_1) {
  const std::lock_guard lock(all_.mutex_);
  waiting_since_.reset();
  can_probe_ = is_http_1_1;
  return !evicted_;
}

void OpenConnections::Entry::begin_answer() {
  const std::lock_guard lock(all_.mutex_);
  can_probe_ = false;
}

bool OpenConnections::Entry::was_evicted() const {
  const std::lock_guard lock(all_.mutex_);
  return evicted_;
}

bool OpenConnections::is_evictable(const Entry& one) const {
  return !one.evicted_ && one.waiting_since_ && Clock::now() - *one.waiting_since_ >= min_wait_;
}

void OpenConnections::evict(Entry& one) {
  ::shutdown(one.socket_, SHUT_RD);
  one.evicted_ = true;
}

int OpenConnections::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(
      std::count_if(all_.begin(), all_.end(), [](const Entry* one) { return !one->evicted_; }));
}

bool OpenConnections::evict_longest_waiting() {
  const std::lock_guard lock(mutex_);
  Entry* oldest = nullptr;
  for (Entry* one : all_)
    if (is_evictable(*one) && (!oldest || *one->waiting_since_ < *oldest->waiting_since_)) oldest = one;
  if (oldest) evict(*oldest);
  return oldest;
}

/// If `requester` itself can be evicted, it does not evict a connection with a smaller body.
bool OpenConnections::evict_largest_body(const Entry& requester) {
  const std::lock_guard lock(mutex_);
  Entry* largest = nullptr;
  for (Entry* one : all_)
    if (one != &requester && is_evictable(*one) && one->held_bytes_ > (largest ? largest->held_bytes_ : 0))
      largest = one;
  if (largest && is_evictable(requester) && requester.held_bytes_ > largest->held_bytes_) return false;
  if (largest) evict(*largest);
  return largest;
}

bool OpenConnections::evict_bodies_until(const Entry& requester, const std::function<bool()>& is_enough) {
  const auto until = Clock::now() + std::chrono::seconds(1);
  constexpr std::chrono::milliseconds poll_interval(2);
  const auto has_ended = [&] { return requester.was_evicted() || Clock::now() >= until; };
  std::unique_lock lock(evicting_bodies_, std::defer_lock);
  while (!lock.try_lock()) {
    if (has_ended()) return false;  // another thread waits for the memory that `requester` holds
    std::this_thread::sleep_for(poll_interval);
  }
  constexpr int polls_per_eviction = 50;  // enough for an evicted connection to end
  for (int polls = 0; !is_enough(); ++polls) {
    if (has_ended()) return false;
    if (polls % polls_per_eviction == 0 && !evict_largest_body(requester)) return false;
    std::this_thread::sleep_for(poll_interval);
  }
  return true;
}

void OpenConnections::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (Entry* one : all_) one->stop_.request_stop();
}

void OpenConnections::close_all() {
  const std::lock_guard lock(mutex_);
  for (const Entry* one : all_)
    if (one->deadline_) ::shutdown(one->socket_, SHUT_RDWR);
}

/// A client that has ended its side of the connection has either hung up or still waits for the answer. To find
/// out, sends an interim answer, which clients of HTTP/1.1 ignore (RFC 9110, 15.2): if the client has hung up,
/// its system resets the connection.
void OpenConnections::check_client(Entry& one) const {
  pollfd polled{one.socket_, POLLRDHUP, 0};
  const short events = ::poll(&polled, 1, 0) > 0 ? polled.revents : short{0};
  const Clock::time_point now = Clock::now();
  if ((events & (POLLHUP | POLLERR)) != 0 || now >= *one.deadline_) one.stop_.request_stop();
  if (now >= *one.deadline_ + write_time_) ::shutdown(one.socket_, SHUT_RDWR);
  if ((events & POLLRDHUP) == 0 || !one.can_probe_) return;
  one.can_probe_ = false;
  const std::string_view probe = "HTTP/1.1 100 Continue\r\n\r\n";
  const ssize_t sent = ::send(one.socket_, probe.data(), probe.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0 && static_cast<size_t>(sent) < probe.size()) ::shutdown(one.socket_, SHUT_RDWR);
}

/// Polls each socket in turn, which takes about a microsecond.
void OpenConnections::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(check_interval);
    const std::lock_guard lock(mutex_);
    for (Entry* one : all_)
      if (one->deadline_) check_client(*one);
  }
}

}  // namespace sixfold::serve
