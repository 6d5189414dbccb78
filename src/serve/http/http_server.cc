#include "serve/http/http_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "serve/http/http_message.h"
#include "serve/http/refusal.h"
#include "serve/http/reservation.h"
#include "serve/http/socket.h"

namespace sixfold::serve {
namespace {

using std::chrono::milliseconds;

/// How often a waiting thread checks whether the server is stopping.
constexpr milliseconds poll_interval{100};
/// The time after the grace period in which cancelled requests can send their answers.
constexpr milliseconds cancellation_time{500};

int require_listening(const HttpOptions& options) {
  const int socket = listen_to(options.host, options.port);
  if (socket < 0)
    throw_environment_error("can't listen to {} port {}: {}", options.host, options.port, std::strerror(errno));
  return socket;
}

/// The request has not been read, so that the interface is not known: the error has the fields of two
/// interfaces.
std::string refusal_of_connection(const Access& access) {
  const std::string message = "The server has too many connections.";
  HttpAnswer answer{.status = 503,
                    .body = fmt::format(R"({{"error":"{}","message":"{}"}})", message, message),
                    .headers = {{"Retry-After", "1"}}};
  access.add_cors_headers({}, answer);
  return answer_head(answer, BodyEnd::length, {}) + answer.body;
}

}  // namespace

/// A connection to a client, for the thread that reads its requests and writes their answers.
class HttpServer::Connection final : public RequestSource {
 public:
  Connection(HttpServer& server, int socket)
      : server_(server), options_(server.options()), socket_(socket), entry_(server.connections_, socket) {}

  void serve() {
    OpenConnections& all = server_.connections_;
    if (all.count() > options_->connections && !all.evict_longest_waiting()) {
      if (server_.refused_) server_.refused_(503);
      socket_.send(refusal_of_connection(options_->access), options_->write_time);
      return;
    }
    while (wait_for_request() && serve_request()) entry_.set_waiting();
    if (entry_.was_evicted()) socket_.note_input_shutdown();
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Waits for the first bytes of a request. Returns false if the client closed the connection, was idle for
  /// too long, or if the server is stopping.
  bool wait_for_request() {
    const auto until = Clock::now() + options_->idle_time;
    while (received_.empty()) {
      if (server_.stopping_ || Clock::now() >= until) return false;
      if (socket_.has_input(poll_interval)) return socket_.receive(received_);
    }
    return true;
  }

  /// Reads a request and answers it. Returns whether the connection stays open.
  bool serve_request() {
    options_ = server_.options();
    const auto begun = Clock::now();
    arrival_deadline_ = begun + options_->arrival_time;
    std::stop_token cancel = entry_.begin_request(begun + options_->request_time);
    Reservation body(server_.held_bytes_, options_->total_body_bytes);
    body_ = &body;
    ReceivedRequest received;
    HttpAnswer answer;
    bool keep_alive = false;
    try {
      read_request(*this, received_, {.body_bytes = options_->body_bytes}, received);
      if (!entry_.complete_request(received.is_http_1_1)) throw too_slow();
      received.request.address = address_;
      received.request.cancel = std::move(cancel);
      options_->access.require(received.request);
      answer = is_preflight(received.request) ? answer_preflight(received.request)
                                              : server_.handler_(received.request);
      keep_alive = received.keep_alive && !server_.stopping_ &&
                   4 * server_.connections_.count() <= 3 * options_->connections;
    } catch (const HttpError& error) {
      answer = refusal(received.request.path, error);
      if (server_.refused_) server_.refused_(answer.status);
    }
    options_->access.add_cors_headers(received.request, answer);
    body_bytes_ = 0;
    keep_alive = send(answer, received, keep_alive) && keep_alive;
    if (options_->log)
      options_->log({.address = address_,
                     .method = received.request.method,
                     .path = received.request.path,
                     .is_http_1_1 = received.is_http_1_1,
                     .status = answer.status,
                     .body_bytes = body_bytes_,
                     .end = std::chrono::system_clock::now(),
                     .seconds = std::chrono::duration<double>(Clock::now() - begun).count()});
    return keep_alive;
  }

  static HttpError too_slow() {
    return {503, "The server is overloaded, and this request arrived too slowly.", 1};
  }

  bool receive(std::string& to) override {
    const auto left = std::chrono::duration_cast<milliseconds>(arrival_deadline_ - Clock::now());
    if (!socket_.has_input(std::max(left, milliseconds(0))))
      throw HttpError(408, "The request did not arrive in time.");
    if (socket_.receive(to)) return true;
    if (entry_.was_evicted()) throw too_slow();
    return false;
  }
  void send_continue() override { socket_.send("HTTP/1.1 100 Continue\r\n\r\n", options_->write_time); }
  void reserve_body(size_t bytes) override {
    const auto grow = [&] { return body_->grow(bytes); };
    if (!grow() && !server_.connections_.evict_bodies_until(entry_, grow)) {
      if (entry_.was_evicted()) throw too_slow();
      throw HttpError(503, "The server has no room for another body.", 1);
    }
    entry_.set_held_bytes(body_->amount());
  }

  /// Returns false if the client has gone, or if the connection must be closed to mark the end of the answer.
  bool send(const HttpAnswer& answer, const ReceivedRequest& to, bool keep_alive) {
    const bool chunks = answer.parts && to.is_http_1_1;
    const BodyEnd end = chunks ? BodyEnd::chunks : answer.parts ? BodyEnd::close : BodyEnd::length;
    std::string bytes =
        answer_head(answer, end,
                    keep_alive && end != BodyEnd::close
                        ? std::optional(std::chrono::duration_cast<std::chrono::seconds>(options_->idle_time))
                        : std::nullopt);
    const bool has_body = to.request.method != "HEAD" && answer.status != 204 && answer.status != 304;
    if (answer.parts && has_body) return send_parts(answer, std::move(bytes), chunks) && chunks;
    if (has_body) {
      bytes += answer.body;
      body_bytes_ = answer.body.size();
    }
    entry_.begin_answer();
    return socket_.send(bytes, options_->write_time);
  }

  /// Sends the head together with the first part, because `OpenConnections` can detect that the client has hung
  /// up only before anything of the answer is sent.
  bool send_parts(const HttpAnswer& answer, std::string head, bool chunks) {
    bool open = true;
    const auto send = [&](std::string_view bytes) {
      entry_.begin_answer();
      open = open && socket_.send(std::exchange(head, {}).append(bytes), options_->write_time);
      return open;
    };
    try {
      answer.parts([&](std::string_view part) {
        body_bytes_ += part.size();
        if (!chunks) return send(part);
        return part.empty() ? open : send(fmt::format("{:x}\r\n{}\r\n", part.size(), part));
      });
    } catch (const std::exception& error) {
      log_warning("an answer was not finished: {}", error.what());
      return false;
    }
    return send(chunks ? "0\r\n\r\n" : "");
  }

  HttpServer& server_;
  std::shared_ptr<const HttpOptions> options_;
  Socket socket_;                                  // before `entry_`, which must not outlive the descriptor
  const std::string address_ = socket_.address();  // read now: it is lost when the client hangs up
  OpenConnections::Entry entry_;
  std::string received_;  // may contain bytes of the next request
  Clock::time_point arrival_deadline_{};
  Reservation* body_ = nullptr;  // for the bytes of the request's body
  size_t body_bytes_ = 0;        // number of bytes of the answer's body that were sent
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler handler, std::function<void(int status)> refused)
    : options_(std::make_shared<const HttpOptions>(options)),
      handler_(std::move(handler)),
      refused_(std::move(refused)),
      listening_socket_(require_listening(options)),
      port_(port_of(listening_socket_)),
      connections_(options.min_wait, options.write_time) {}

HttpServer::~HttpServer() {
  if (listening_socket_ >= 0) ::close(listening_socket_);
}

std::shared_ptr<const HttpOptions> HttpServer::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void HttpServer::reconfigure(const HttpOptions& options) {
  auto changed = std::make_shared<const HttpOptions>(options);
  const std::lock_guard lock(mutex_);
  options_.swap(changed);
}

void HttpServer::run() {
  started_ = true;
  while (!stopping_) accept();
  ::close(std::exchange(listening_socket_, -1));
  threads_.clear();  // joins them
  ended_ = true;
}

/// Accepts a connection, if there is one, and starts a thread for it.
void HttpServer::accept() {
  pollfd watched{listening_socket_, POLLIN, 0};
  if (::poll(&watched, 1, static_cast<int>(poll_interval.count())) <= 0) return;
  const int socket = ::accept4(listening_socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    if (const auto count = not_accepted_.add(1))
      log_warning("{} could not be accepted, at last since: {}", counted(*count, "connection"),
                  std::strerror(errno));
    std::this_thread::sleep_for(poll_interval);  // some errors are temporary
    return;
  }
  threads_.remove_if([](const Thread& thread) { return thread.ended.load(); });
  // Evicted connections stay for up to half a second, until their clients have read the answer.
  const auto current = options();
  if (threads_.size() < 2 * static_cast<size_t>(current->connections) && start_thread(socket)) return;
  if (refused_) refused_(503);
  const std::string answer = refusal_of_connection(current->access);
  ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  char request[4096];  // the client may lose the answer if its request is not read
  ::recv(socket, request, sizeof request, MSG_DONTWAIT);
  ::close(socket);
}

/// Returns false if the system refuses another thread.
bool HttpServer::start_thread(int socket) {
  Thread& entry = threads_.emplace_back();
  try {
    entry.thread = std::jthread([this, &entry, socket] {
      try {
        Connection(*this, socket).serve();
      } catch (const std::exception& error) {
        log_warning("a connection was given up: {}", error.what());
      }
      entry.ended = true;
    });
  } catch (const std::system_error&) {
    threads_.pop_back();
    return false;
  }
  return true;
}

void HttpServer::stop(milliseconds grace) {
  const auto until = std::chrono::steady_clock::now() + grace;
  stopping_ = true;
  if (!started_) return;
  for (; !ended_; std::this_thread::sleep_for(milliseconds(5))) {
    if (std::chrono::steady_clock::now() >= until) connections_.cancel_all();
    if (std::chrono::steady_clock::now() >= until + cancellation_time) connections_.close_all();
  }
}

}  // namespace sixfold::serve
