#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "serve/http/access.h"
#include "serve/http/http.h"
#include "serve/http/open_connections.h"
#include "serve/http/rare_warning.h"

namespace sixfold::serve {

/// A request that was answered or refused, for a log.
struct AnsweredRequest {
  std::string address;       ///< of the client
  std::string method, path;  ///< empty if nothing of the request was understood; the path has no query
  bool is_http_1_1 = true;
  int status = 200;
  size_t body_bytes = 0;  ///< of the answer's body, that were sent
  std::chrono::system_clock::time_point end = {};
  double seconds = 0;  ///< from the first byte of the request to the end of the answer
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 7070;                ///< 0: any that is free
  int connections = 256;          ///< at a time; beyond, one ends, or the new one is refused with 503
  size_t body_bytes = 4 << 20;    ///< most bytes of a request's body
  size_t held_bytes = 128 << 20;  ///< of all bodies; beyond, one ends, or the new one is refused with 503
  std::chrono::milliseconds arrival_time{60'000};   ///< for a request to arrive
  std::chrono::milliseconds request_time{120'000};  ///< for a request to be answered
  std::chrono::milliseconds idle_time{5'000};       ///< between two requests of a connection
  std::chrono::milliseconds write_time{30'000};  ///< for the client to take a part, and the rest, of an answer
  /// For a request to arrive even if there are too many connections, or too many bytes of bodies: then the one
  /// that has waited longest, or the largest body, ends.
  std::chrono::milliseconds patience{1'000};
  Access access = {};  ///< names of the server, and pages that may use it
  /// Is told of each request after its answer. Any number of threads call it at once. It must not throw.
  std::function<void(const AnsweredRequest&)> log = {};
};

/// An HTTP/1.1 server: accepts connections, reads requests within limits, and hands them to a handler. Each
/// connection has a thread, which sleeps while its client is idle.
class HttpServer {
 public:
  /// Binds to the address. Throws an input error if it is none, and an environment error if it can't be bound.
  HttpServer(const HttpOptions& options, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// The port that the server listens to.
  int port() const { return port_; }
  /// Serves until `stop` is called, and returns when all requests that were accepted have been answered.
  void run();
  /// From the next request of each connection on, and for new ones, other limits and another `access` apply.
  /// Host, port and `patience` stay. Any thread may call it.
  void change(const HttpOptions& options);
  /// Ends `run`: no more connections are accepted. Requests that are being answered after `grace` are
  /// cancelled. Returns when `run` returns. Any other thread may call it, also before `run`.
  void stop(std::chrono::milliseconds grace);

 private:
  class Connection;
  struct Thread {
    std::atomic<bool> ended{false};
    std::jthread thread;
  };
  void accept();
  bool start_thread(int socket);
  std::shared_ptr<const HttpOptions> options() const;

  mutable std::mutex mutex_;  // guards `options_`
  std::shared_ptr<const HttpOptions> options_;
  const HttpHandler handler_;
  int listening_;  // the socket; -1: it is closed
  const int port_;
  std::atomic<bool> started_{false}, stopping_{false}, ended_{false};
  std::atomic<size_t> held_{0};  // bytes of bodies
  OpenConnections connections_;
  RareWarning not_accepted_;
  std::list<Thread> threads_;  // of connections; last: they use the members above
};

}  // namespace sixfold::serve
