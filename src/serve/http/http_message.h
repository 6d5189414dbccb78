#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "serve/http/http.h"

namespace sixfold::serve {

/// The input of a connection, from which requests are read. It is also notified while a request is read.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  /// Appends bytes that have arrived. Returns false at the end of the input. May throw an `HttpError` (408,
  /// 503).
  virtual bool receive(std::string& to) = 0;
  /// Sends "100 Continue", for which the client waits before it sends the body.
  virtual void send_continue() = 0;
  /// Called before this many more bytes of a body are kept in memory. May throw an `HttpError` (503).
  virtual void reserve_body(size_t bytes) = 0;
};

struct RequestLimits {
  size_t target_bytes = 2048;
  size_t head_bytes = 64 * 1024;  ///< of the request line and all headers
  size_t body_bytes = 4 << 20;
};

/// A request as it was sent. `request` has neither an address nor a stop token.
struct ReceivedRequest {
  HttpRequest request;
  bool is_http_1_1 = true;  ///< false: HTTP/1.0
  bool keep_alive = false;  ///< whether the client wants to keep the connection open
};

/// Reads the next request. `received`: bytes that have arrived before; those after the request are left in it.
/// Takes time proportional to the bytes of the request. Throws an `HttpError` if the request is invalid,
/// incomplete or exceeds a limit; `to` then contains the part that was read, and the rest of the input can't be
/// used.
///
/// A request is refused if servers and proxies could disagree on where it ends (request smuggling): for a
/// header that continues on the next line, a space before a colon, two lengths, no host or two, or control
/// characters in values.
void read_request(RequestSource& source, std::string& received, const RequestLimits& limits,
                  ReceivedRequest& to);

/// How the client recognizes the end of an answer's body: by Content-Length, by the last chunk, or because the
/// connection is closed.
enum class BodyEnd { length, chunks, close };

/// The status line and the headers of an answer, with the empty line after them. `idle_time`: how long the
/// connection may wait for the next request; nothing: it is closed after this answer.
std::string answer_head(const HttpAnswer& answer, BodyEnd end, std::optional<std::chrono::seconds> idle_time);

}  // namespace sixfold::serve
