#include "fuzz/http_bytes.h"

#include <cstdlib>
#include <string>
#include <thread>

#include "serve/http_server.h"
#include "serve/raw_client.h"

namespace sixfold {
namespace {

using serve::HttpAnswer;
using serve::HttpRequest;

constexpr size_t most_bytes = 2000;

/// Says what a request holds.
HttpAnswer answer(const HttpRequest& request) {
  size_t bytes = request.body.size();
  for (const auto& [name, value] : request.form) bytes += value.size();
  for (const serve::Upload& file : request.files) bytes += file.content.size();
  if (bytes > most_bytes || request.path.empty()) std::abort();
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
  serve::HttpServer server_{{.port = 0, .body_bytes = most_bytes}, answer};
  std::thread thread_;
};

}  // namespace

void http_bytes(std::span<const uint8_t> bytes) {
  static const EchoServer server;
  const serve::RawClient client(server.port());
  client.send({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  client.send_no_more();
  const std::string answers = client.receive(5000);
  const bool is_http = answers.empty() || answers.starts_with("HTTP/1.1 ");
  if (!is_http || answers.find("HTTP/1.1 500") != answers.npos || !client.closed(5000)) std::abort();
}

}  // namespace sixfold
