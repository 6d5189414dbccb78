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
#include "serve/http/rate_limited_warning.h"

namespace sixfold::serve {

/// A request that was answered or refused, as it is logged.
struct AnsweredRequest {
  std::string address;       ///< of the client
  std::string method, path;  ///< without the query; empty if the request could not be parsed
  bool is_http_1_1 = true;
  int status = 200;
  size_t body_bytes = 0;  ///< number of bytes of the answer's body that were sent
  std::chrono::system_clock::time_point end = {};
  double seconds = 0;  ///< from the first byte of the request to the end of the answer
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 7070;                      ///< 0: any free port
  int connections = 256;                ///< limit; beyond it one is evicted, or the new one is refused with 503
  size_t body_bytes = 4 << 20;          ///< limit of a request's body
  size_t total_body_bytes = 128 << 20;  ///< limit of all bodies; beyond it one is evicted, or refused with 503
  std::chrono::milliseconds arrival_time{60'000};   ///< for a request to arrive
  std::chrono::milliseconds request_time{120'000};  ///< for a request to be answered
  std::chrono::milliseconds idle_time{5'000};       ///< between two requests of a connection
  std::chrono::milliseconds write_time{30'000};  ///< for the client to take a part, and the rest, of an answer
  /// How long a connection may wait for a request before it can be evicted. If there are too many connections,
  /// that which has waited longest is evicted; if there are too many bytes of bodies, that with the largest
  /// body.
  std::chrono::milliseconds min_wait{1'000};
  Access access = {};  ///< the host names of the server, and the pages that may use it
  /// Called for each request after its answer, by any number of threads at once. It must not throw.
  std::function<void(const AnsweredRequest&)> log = {};
};

/// An HTTP/1.1 server: accepts connections, reads requests within limits, and hands them to a handler. Each
/// connection has a thread, which sleeps while its client is idle.
class HttpServer {
 public:
  /// Binds to the address. Throws an input error if `host` is not an address of this machine, and an
  /// environment error if it can't be bound.
  /// `refused` is called with the status of each request, or connection, that is refused before the handler
  /// sees it, by any number of threads at once. It must not throw.
  HttpServer(const HttpOptions& options, HttpHandler handler, std::function<void(int status)> refused = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// The port that the server listens to.
  int port() const { return port_; }
  /// Serves until `stop` is called, and returns when all requests that were accepted have been answered.
  void run();
  /// Replaces the limits and `access`, for new connections and from the next request of each open connection
  /// on. Host, port and `min_wait` do not change. Any thread may call it.
  void reconfigure(const HttpOptions& options);
  /// Ends `run`: no more connections are accepted, and requests that are still being answered after `grace` are
  /// cancelled. Returns when `run` has ended. Any thread other than that of `run` may call it, also before
  /// `run`.
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
  const std::function<void(int status)> refused_;
  int listening_socket_;  // -1: it is closed
  const int port_;
  std::atomic<bool> started_{false}, stopping_{false}, ended_{false};
  std::atomic<size_t> held_bytes_{0};  // of all bodies
  OpenConnections connections_;
  RateLimitedWarning not_accepted_;
  std::list<Thread> threads_;  // of connections; last: they use the members above
};

}  // namespace sixfold::serve
