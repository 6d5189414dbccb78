#include "serve/request_watch.h"

#include <poll.h>
#include <sys/socket.h>

#include <vector>

namespace sixfold::serve {
namespace {

constexpr std::chrono::milliseconds interval{50};

}  // namespace

RequestWatch::RequestWatch(std::chrono::milliseconds write_time)
    : write_time_(write_time), thread_([this](const std::stop_token& stop) { work(stop); }) {}

RequestWatch::Watched::Watched(RequestWatch& watch, int socket, std::chrono::milliseconds most)
    : watch_(watch), socket_(socket), deadline_(Clock::now() + most) {
  const std::lock_guard lock(watch_.mutex_);
  place_ = watch_.all_.insert(watch_.all_.end(), this);
}

RequestWatch::Watched::~Watched() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.all_.erase(place_);
}

RequestWatch::End RequestWatch::Watched::end() const {
  const std::lock_guard lock(watch_.mutex_);
  return end_;
}

void RequestWatch::end_all() {
  const std::lock_guard lock(mutex_);
  for (Watched* watched : all_) end(*watched, End::server_ends);
}

void RequestWatch::cut_all() {
  const std::lock_guard lock(mutex_);
  for (const Watched* watched : all_) ::shutdown(watched->socket_, SHUT_RDWR);
}

void RequestWatch::end(Watched& watched, End why) {
  if (watched.end_ != End::none) return;
  watched.end_ = why;
  watched.stop_.request_stop();
}

/// Asks each socket in turn, which takes a microsecond. The lock is held, so that no socket is closed
/// meanwhile.
void RequestWatch::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(interval);
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex_);
    for (Watched* watched : all_) {
      pollfd asked{watched->socket_, POLLRDHUP, 0};
      if (::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
        end(*watched, End::hang_up);
      else if (now >= watched->deadline_)
        end(*watched, End::time_limit);
      if (now >= watched->deadline_ + write_time_) ::shutdown(watched->socket_, SHUT_RDWR);
    }
  }
}

}  // namespace sixfold::serve
