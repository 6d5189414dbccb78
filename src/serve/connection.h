#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "serve/http_library.h"

namespace sixfold::serve {

/// What a connection accepts.
struct ConnectionLimits {
  size_t header_bytes = 64 * 1024;  ///< of a request before its body
  size_t body_bytes = 4 << 20;      ///< of a request's body, as it is sent and after decompression
  std::chrono::milliseconds request_time{60'000};  ///< for a whole request to arrive
  std::chrono::milliseconds idle_time{5'000};      ///< until the next request begins
  std::chrono::milliseconds write_time{30'000};    ///< for the client to take a part of an answer
};

/// The bytes of a connection, in both directions, within its limits: a client that is slow or sends too much
/// gets an end of input, so that nothing waits for it for ever. For one thread.
class Connection final : public httplib::Stream {
 public:
  /// Owns the socket and closes it at the end.
  Connection(int socket, const ConnectionLimits& limits);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits until a request begins. Returns false if the client hangs up or the time is over, or if `ending`
  /// returns true, which is asked every 100 ms.
  bool wait_for_request(const std::function<bool()>& ending);
  /// Begins to count the bytes and the time of a request.
  void begin_request();
  /// From now on the bytes are those of the body.
  void begin_body() { allowed_ = limits_.body_bytes + limits_.header_bytes; }
  /// Reads for a moment, at the end, what the client sends in vain, so that it does not lose the answer.
  void linger() { lingers_ = true; }
  /// The same where this side has ended the input: what the client goes on sending is read all the same.
  void linger_after_end() { lingers_ = input_ended_ = true; }
  bool lingers() const { return lingers_; }
  /// Whether a read of this request has failed because of a limit.
  bool timed_out() const { return timed_out_; }
  bool too_large() const { return too_large_; }

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  int socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool fill(std::chrono::milliseconds most);

  const int socket_;
  const ConnectionLimits limits_;
  Clock::time_point deadline_{};
  size_t allowed_ = 0;  // bytes of this request that may still be read
  bool timed_out_ = false, too_large_ = false, lingers_ = false, input_ended_ = false;
  std::unique_ptr<char[]> buffer_;  // bytes of the next request may arrive with those of this one
  size_t begin_ = 0, end_ = 0;
};

}  // namespace sixfold::serve
