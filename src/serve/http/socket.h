#pragma once
#include <chrono>
#include <string>
#include <string_view>

namespace sixfold::serve {

/// A connection to a client: reads and writes that end after a time. For one thread.
class Socket {
 public:
  using Clock = std::chrono::steady_clock;

  /// Owns the file descriptor and closes it at the end, before which it reads for a moment what the client goes
  /// on sending: the system resets a connection whose input was not read, and the client may lose the answer.
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Whether something can be received, or the client has sent the end of its input. Waits for it.
  bool has_input(std::chrono::milliseconds most) const;
  /// Appends what has arrived. Returns false if nothing has, and at the end of the input.
  bool receive(std::string& to) const;
  /// Sends all bytes. Returns false if the client is gone, or takes none of them for `most`.
  bool send(std::string_view bytes, std::chrono::milliseconds most) const;
  /// This side has ended the input, so that its end does not say that the client has gone.
  void input_was_ended() { input_was_ended_ = true; }
  /// The address of the client.
  std::string address() const;

 private:
  const int descriptor_;
  bool input_was_ended_ = false;
};

/// A socket that listens, or -1, in which case errno says why. `port`: 0 takes any that is free.
int listen_to(const std::string& host, int port);
/// The port that a socket listens to.
int port_of(int listening);

}  // namespace sixfold::serve
