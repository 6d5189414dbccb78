#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "serve/http/http_server.h"
#include "serve/raw_client.h"

namespace sixfold::serve {

/// A server whose handler answers "METHOD PATH BODY". "/wait" waits until its request is cancelled, "/parts"
/// answers in parts, and "/large" with 64 MiB.
class HttpServerTest : public testing::Test {
 protected:
  using milliseconds = std::chrono::milliseconds;
  using Clock = std::chrono::steady_clock;

  void start(HttpOptions options = {}) {
    options.port = 0;
    server_ = std::make_unique<HttpServer>(
        options, [this](const HttpRequest& request) { return answer(request); },
        [this](int status) { refused_ = status; });
    thread_ = std::thread([this] { server_->run(); });
  }
  void stop(milliseconds grace = milliseconds(2000)) {
    server_->stop(grace);
    thread_.join();
  }
  ~HttpServerTest() override {
    if (thread_.joinable()) stop();
  }

  HttpAnswer answer(const HttpRequest& request) {
    ++requests_;
    if (request.path == "/wait") {
      while (!request.cancel.stop_requested() && !released_) std::this_thread::sleep_for(milliseconds(5));
      cancelled_ += request.cancel.stop_requested();
      return {.status = request.cancel.stop_requested() ? 503 : 200, .body = "waited"};
    }
    if (request.path == "/large") return {.content_type = "text/plain", .body = std::string(64 << 20, 'a')};
    if (request.path == "/parts")
      return {.content_type = "text/plain", .parts = [](const WritePart& write) {
                for (const char* part : {"one ", "two ", "three"}) write(part);
              }};
    std::string text = request.method + " " + request.path + " " + request.body;
    for (const auto& [name, value] : request.query) text += " " + name + "=" + value;
    for (const auto& [name, value] : request.form) text += " " + name + ":" + value;
    for (const Upload& file : request.files)
      text += " " + file.field + "(" + file.file_name + ")" + file.content;
    return {.content_type = "text/plain", .body = text};
  }
  std::string ask(const std::string& bytes) {
    const RawClient client(server_->port());
    client.send(bytes);
    return client.receive();
  }
  static std::string post(const std::string& body, const std::string& more = "") {
    return "POST /x HTTP/1.1\r\nHost: a\r\n" + more + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  template <class Condition>
  static bool soon(Condition condition) {
    for (const auto until = Clock::now() + milliseconds(5000); Clock::now() < until;
         std::this_thread::sleep_for(milliseconds(5)))
      if (condition()) return true;
    return false;
  }
  static bool has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    return text.find(part) != std::string::npos;
  }

  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  std::atomic<int> requests_{0}, cancelled_{0};
  std::atomic<int> refused_{0};  ///< status of the last request that the handler did not see
  std::atomic<bool> released_{false};
};

}  // namespace sixfold::serve
