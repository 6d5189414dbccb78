#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace sixfold::serve {

/// A client that sends any bytes it likes.
class RawClient {
 public:
  explicit RawClient(int port, const std::string& host = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = ::inet_addr(host.c_str());
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      hang_up();
      throw std::runtime_error("can't connect");
    }
  }
  ~RawClient() { hang_up(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// Returns whether the server took the bytes.
  bool send(const std::string& bytes) const {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<size_t>(count);
    }
    return true;
  }
  /// The server reads the end of the connection after what was sent; answers still come.
  void send_no_more() const { ::shutdown(socket_, SHUT_WR); }
  /// What comes until the server closes the connection, or until nothing comes for `milliseconds`.
  std::string receive(int milliseconds = 300) const {
    std::string all;
    for (std::string some; !(some = receive_some(milliseconds)).empty();) all += some;
    return all;
  }
  /// What comes next, at most after `milliseconds`; empty if nothing comes or the server closes the connection.
  std::string receive_some(int milliseconds) const {
    char buffer[65536];
    pollfd watched{socket_, POLLIN, 0};
    if (::poll(&watched, 1, milliseconds) <= 0) return {};
    const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
    return count <= 0 ? std::string() : std::string(buffer, static_cast<size_t>(count));
  }
  /// All that comes until it contains `part`; less if nothing comes for `milliseconds` or the server closes the
  /// connection.
  std::string receive_until(const std::string& part, int milliseconds) const {
    std::string all;
    for (std::string some; all.find(part) == all.npos && !(some = receive_some(milliseconds)).empty();)
      all += some;
    return all;
  }
  /// Whether the server has closed the connection, at most after `milliseconds`.
  bool closed(int milliseconds) const {
    char byte;
    pollfd watched{socket_, POLLIN, 0};
    return ::poll(&watched, 1, milliseconds) > 0 && ::recv(socket_, &byte, 1, MSG_PEEK) <= 0;
  }
  void hang_up() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
};

}  // namespace sixfold::serve
