#include "serve/connection.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace sixfold::serve {
namespace {

using std::chrono::milliseconds;

constexpr size_t buffer_bytes = 16 * 1024;
constexpr milliseconds slice{100};  // how often `ending` is asked

/// Waits until one of `events` happens. Returns false after `most`, or on an error.
bool wait_for(int socket, short events, milliseconds most) {
  pollfd watched{socket, events, 0};
  int result;
  do result = ::poll(&watched, 1, static_cast<int>(most.count()));
  while (result < 0 && errno == EINTR);
  return result > 0 && (watched.revents & events) != 0;
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

void address_of(int socket, NameOf name_of, std::string& ip, int& port) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (name_of(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return;
  char host[NI_MAXHOST], service[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return;
  ip = host;
  port = std::atoi(service);
}

/// Whether the client has closed its side. The system tells it even where this side reads no more.
bool client_has_ended(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_FIN_WAIT1 &&
         info.tcpi_state != TCP_FIN_WAIT2;
}

}  // namespace

Connection::Connection(int socket, const ConnectionLimits& limits)
    : socket_(socket), limits_(limits), buffer_(std::make_unique<char[]>(buffer_bytes)) {}

/// The system resets a connection that is closed before its input is read, and the client may lose the answer.
Connection::~Connection() {
  ::shutdown(socket_, SHUT_WR);
  if (lingers_ || too_large_ || timed_out_) {
    const auto until = Clock::now() + milliseconds(500);
    while (Clock::now() < until && wait_for(socket_, POLLIN, milliseconds(100))) {
      if (::recv(socket_, buffer_.get(), buffer_bytes, MSG_DONTWAIT) > 0) continue;
      if (!input_ended_ || client_has_ended(socket_)) break;
      std::this_thread::sleep_for(milliseconds(10));  // nothing has arrived since
    }
  }
  ::close(socket_);
}

bool Connection::wait_for_request(const std::function<bool()>& ending) {
  const auto until = Clock::now() + limits_.idle_time;
  while (begin_ == end_) {
    if (ending() || Clock::now() >= until) return false;
    if (wait_for(socket_, POLLIN, slice)) return fill(milliseconds(0));
  }
  return true;
}

void Connection::begin_request() {
  deadline_ = Clock::now() + limits_.request_time;
  allowed_ = limits_.header_bytes;
  timed_out_ = too_large_ = false;
}

/// Reads more bytes into the empty buffer. Returns false at the end of the input.
bool Connection::fill(milliseconds most) {
  if (!wait_for(socket_, POLLIN, most)) {
    timed_out_ = true;
    return false;
  }
  ssize_t count;
  do count = ::recv(socket_, buffer_.get(), buffer_bytes, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  begin_ = 0;
  end_ = count > 0 ? static_cast<size_t>(count) : 0;
  return count > 0;
}

bool Connection::is_readable() const { return begin_ < end_ || wait_for(socket_, POLLIN, milliseconds(0)); }

bool Connection::is_writable() const {
  pollfd watched{socket_, POLLOUT | POLLRDHUP, 0};
  return ::poll(&watched, 1, static_cast<int>(limits_.write_time.count())) > 0 &&
         (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

ssize_t Connection::read(char* to, size_t size) {
  if (size == 0) return 0;
  if (allowed_ == 0) {
    too_large_ = true;
    return -1;
  }
  if (begin_ == end_) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
    if (!fill(std::max(left, milliseconds(0)))) return timed_out_ ? -1 : 0;
  }
  const size_t count = std::min({size, end_ - begin_, allowed_});
  std::memcpy(to, buffer_.get() + begin_, count);
  begin_ += count;
  allowed_ -= count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* from, size_t size) {
  if (!wait_for(socket_, POLLOUT, limits_.write_time)) return -1;
  ssize_t count;
  do count = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  return count;
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  address_of(socket_, ::getpeername, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  address_of(socket_, ::getsockname, ip, port);
}

}  // namespace sixfold::serve
