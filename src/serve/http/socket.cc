#include "serve/http/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/error.h"

namespace sixfold::serve {
namespace {

using std::chrono::milliseconds;

constexpr size_t receive_bytes = 16 * 1024;  // maximum of one call of `receive`
constexpr milliseconds linger_time{500}, longest_silence{100};

/// Waits until one of `events` happens. Returns false after `timeout`.
bool wait_for(int socket, short events, milliseconds timeout) {
  pollfd watched{socket, events, 0};
  int result;
  do result = ::poll(&watched, 1, static_cast<int>(timeout.count()));
  while (result < 0 && errno == EINTR);
  return result > 0;
}

struct Address {
  std::string host, port;
};

using NameOf = int (*)(int, sockaddr*, socklen_t*);

Address address_of(int socket, NameOf name_of) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  if (name_of(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, port};
}

}  // namespace

Socket::~Socket() {
  ::shutdown(descriptor_, SHUT_WR);
  std::string unread;
  const auto until = Clock::now() + linger_time;
  while (Clock::now() < until && has_input(longest_silence)) {
    unread.clear();
    if (receive(unread)) continue;
    if (!input_was_shut_down_) break;
    std::this_thread::sleep_for(
        milliseconds(10));  // after SHUT_RD, poll reports input even if nothing has arrived
  }
  ::close(descriptor_);
}

bool Socket::has_input(milliseconds timeout) const { return wait_for(descriptor_, POLLIN, timeout); }

bool Socket::receive(std::string& to) const {
  const size_t size = to.size();
  to.resize(size + receive_bytes);
  ssize_t count;
  do count = ::recv(descriptor_, to.data() + size, receive_bytes, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  to.resize(size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return count > 0;
}

bool Socket::send(std::string_view bytes, milliseconds timeout) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0)
      bytes.remove_prefix(static_cast<size_t>(count));
    else if (errno == EAGAIN ? !wait_for(descriptor_, POLLOUT, timeout) : errno != EINTR)
      return false;
  }
  return true;
}

std::string Socket::address() const { return address_of(descriptor_, ::getpeername).host; }

int listen_to(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  require(error == 0, "host '{}': is not an address of this machine ({})", host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  const int on = 1;
  for (const addrinfo* one = found; one; one = one->ai_next) {
    const int socket =
        ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol);
    if (socket < 0) continue;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
    if (::bind(socket, one->ai_addr, one->ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0) return socket;
    const int error_number = errno;
    ::close(socket);
    errno = error_number;
  }
  return -1;
}

int port_of(int listening) { return std::atoi(address_of(listening, ::getsockname).port.c_str()); }

}  // namespace sixfold::serve
