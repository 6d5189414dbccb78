#include "fuzz/http_bytes.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "serve/http/http_server.h"
#include "serve/memory_source.h"
#include "serve/raw_client.h"

namespace sixfold {
namespace {

using serve::HttpAnswer;
using serve::HttpRequest;

constexpr size_t max_bytes = 2000;

/// Says what a request holds.
HttpAnswer answer(const HttpRequest& request) {
  size_t bytes = request.body.size();
  for (const auto& [name, value] : request.form) bytes += value.size();
  for (const serve::Upload& file : request.files) bytes += file.content.size();
  if (bytes > max_bytes || request.path.empty()) std::abort();
  return {.content_type = "text/plain", .body = request.method + " " + request.path};
}

/// Waits for nobody: the client has sent all before it reads.
class EchoServer {
 public:
  EchoServer() : thread_([this] { server_.run(); }) {}
  ~EchoServer() {
    server_.stop(std::chrono::milliseconds(0));
    thread_.join();
  }
  int port() const { return server_.port(); }

 private:
  serve::HttpServer server_{{.port = 0, .body_bytes = max_bytes}, answer};
  std::thread thread_;
};

bool is_same(const serve::ReceivedRequest& a, const serve::ReceivedRequest& b) {
  const HttpRequest &one = a.request, &other = b.request;
  return one.method == other.method && one.path == other.path && one.headers == other.headers &&
         one.body == other.body && one.form == other.form && one.files.size() == other.files.size() &&
         a.keep_alive == b.keep_alive;
}

/// Which requests a connection has does not depend on how its bytes arrive.
void read_in_pieces(const std::string& bytes) {
  const serve::RequestLimits limits{.target_bytes = 100, .head_bytes = 1000, .body_bytes = max_bytes};
  const serve::ReadConnection whole = serve::read_connection(bytes, bytes.size(), limits);
  for (const size_t piece : {1, 5}) {
    const serve::ReadConnection pieces = serve::read_connection(bytes, piece, limits);
    if (!std::ranges::equal(pieces.requests, whole.requests, is_same) ||
        (pieces.status == 0) != (whole.status == 0))
      std::abort();
  }
}

}  // namespace

void http_bytes(std::span<const uint8_t> input) {
  const std::string bytes(input.begin(), input.end());
  read_in_pieces(bytes);
  static const EchoServer server;
  const serve::RawClient client(server.port());
  client.send(bytes);
  client.send_no_more();
  const std::string answers = client.receive(5000);
  const bool is_http = answers.empty() || answers.starts_with("HTTP/1.1 ");
  if (!is_http || answers.find("HTTP/1.1 500") != answers.npos || !client.closed(5000)) std::abort();
}

}  // namespace sixfold
