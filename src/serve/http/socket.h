#pragma once
#include <chrono>
#include <string>
#include <string_view>

namespace sixfold::serve {

/// A connection to a client, whose reads and writes have time limits. For one thread.
class Socket {
 public:
  using Clock = std::chrono::steady_clock;

  /// Owns the file descriptor. The destructor closes it after it has read, for a short time, what the client
  /// still sends: if a connection with unread input is closed, the system resets it, and the client may lose
  /// the answer.
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Waits until something can be received or the client has ended its input. Returns false after `timeout`.
  bool has_input(std::chrono::milliseconds timeout) const;
  /// Appends what has arrived to `to`. Returns false if nothing has arrived, or at the end of the input.
  bool receive(std::string& to) const;
  /// Sends all bytes. Returns false if the client has gone, or accepts none of them for `timeout`.
  bool send(std::string_view bytes, std::chrono::milliseconds timeout) const;
  /// Records that this side has shut down the input, so that its end does not mean that the client has gone.
  void note_input_shutdown() { input_was_shut_down_ = true; }
  /// The address of the client.
  std::string address() const;

 private:
  const int descriptor_;
  bool input_was_shut_down_ = false;
};

/// Returns a listening socket, or -1, in which case errno has the reason. `port`: 0 chooses any free port.
int listen_to(const std::string& host, int port);
/// The port on which a socket listens.
int port_of(int listening);

}  // namespace sixfold::serve
