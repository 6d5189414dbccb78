#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "serve/http/http.h"

namespace sixfold::serve {

/// Where the bytes of a connection's requests come from, and who is told of them.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  /// Appends bytes that have arrived. Returns false at the end of the input. May throw an `HttpError` (408,
  /// 503).
  virtual bool receive(std::string& to) = 0;
  /// The client waits for "100 Continue" before it sends the body.
  virtual void send_continue() = 0;
  /// So many more bytes of a body are to be held. May throw an `HttpError` (503).
  virtual void make_room(size_t bytes) = 0;
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
  bool keep_alive = false;  ///< whether the client wants the connection to go on
};

/// Reads the next request. `received`: bytes that have arrived before; those after the request are left in it.
/// Takes time proportional to the bytes of the request. Throws an `HttpError` if it is not valid, not complete
/// or exceeds a limit: then `to` has what was read, and what follows in the input can't be trusted.
///
/// Where servers and proxies could disagree on where a request ends, it is refused: a header that goes on in
/// the next line, a space before a colon, two lengths, two hosts or none, control characters in values.
void read_request(RequestSource& source, std::string& received, const RequestLimits& limits,
                  ReceivedRequest& to);

/// How the end of an answer is known.
enum class BodyEnd { length, chunks, close };

/// The status line and the headers of an answer, with the empty line. `idle_time`: how long the connection may
/// wait for the next request; nothing: it is closed after this answer.
std::string answer_head(const HttpAnswer& answer, BodyEnd end, std::optional<std::chrono::seconds> idle_time);

}  // namespace sixfold::serve
