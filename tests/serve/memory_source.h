#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "serve/http/http_message.h"

namespace sixfold::serve {

/// A connection whose bytes arrive in pieces of `piece`.
class MemorySource final : public RequestSource {
 public:
  MemorySource(std::string bytes, size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}
  bool receive(std::string& to) override {
    const std::string some = bytes_.substr(at_, piece_);
    at_ += some.size();
    to += some;
    return !some.empty();
  }
  void send_continue() override { ++continues; }
  void reserve_body(size_t) override {}

  int continues = 0;

 private:
  const std::string bytes_;
  const size_t piece_;
  size_t at_ = 0;
};

/// All requests of a connection, and how its input ended.
struct ReadConnection {
  std::vector<ReceivedRequest> requests;
  int status = 0;       ///< of the error that ended it; 0: there was none
  std::string message;  ///< of the error
  int continues = 0;    ///< how often the client was told to send the body
};

inline ReadConnection read_connection(const std::string& bytes, size_t piece,
                                      const RequestLimits& limits = {}) {
  ReadConnection result;
  MemorySource source(bytes, piece);
  try {
    for (std::string received; !received.empty() || source.receive(received);) {
      ReceivedRequest request;
      read_request(source, received, limits, request);
      result.requests.push_back(request);
      if (!request.keep_alive) break;
    }
  } catch (const HttpError& error) {
    result.status = error.status();
    result.message = error.what();
  }
  result.continues = source.continues;
  return result;
}

}  // namespace sixfold::serve
