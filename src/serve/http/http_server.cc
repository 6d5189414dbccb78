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
#include "serve/http/share.h"
#include "serve/http/socket.h"

namespace sixfold::serve {
namespace {

using std::chrono::milliseconds;

/// How often a thread that waits looks whether the server ends.
constexpr milliseconds slice{100};
/// After the grace time: for requests that were cancelled to send their answer.
constexpr milliseconds last_moment{500};

int require_listening(const HttpOptions& options) {
  const int socket = listen_to(options.host, options.port);
  if (socket < 0)
    throw_environment_error("can't listen to {} port {}: {}", options.host, options.port, std::strerror(errno));
  return socket;
}

/// The request is not read, so that the face is not known: the error has the fields of two.
std::string refusal_of_connection(const Access& access) {
  const std::string message = "The server has too many connections.";
  HttpAnswer answer{.status = 503,
                    .body = fmt::format(R"({{"error":"{}","message":"{}"}})", message, message),
                    .headers = {{"Retry-After", "1"}}};
  access.allow({}, answer);
  return answer_head(answer, BodyEnd::length, {}) + answer.body;
}

}  // namespace

/// A connection to a client, for the thread that reads its requests and writes their answers.
class HttpServer::Connection final : public RequestSource {
 public:
  Connection(HttpServer& server, int socket)
      : server_(server), options_(server.options()), socket_(socket), open_(server.connections_, socket) {}

  void serve() {
    OpenConnections& all = server_.connections_;
    if (all.count() > options_->connections && !all.make_room()) {
      socket_.send(refusal_of_connection(options_->access), options_->write_time);
      return;
    }
    while (has_request() && exchange()) open_.waits();
    if (open_.was_ended()) socket_.input_was_ended();
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Waits until a request begins.
  bool has_request() {
    const auto until = Clock::now() + options_->idle_time;
    while (received_.empty()) {
      if (server_.stopping_ || Clock::now() >= until) return false;
      if (socket_.has_input(slice)) return socket_.receive(received_);
    }
    return true;
  }

  /// Reads a request and answers it. Returns whether the connection goes on.
  bool exchange() {
    options_ = server_.options();
    const auto begun = Clock::now();
    arrives_until_ = begun + options_->arrival_time;
    std::stop_token cancel = open_.begins(begun + options_->request_time);
    Share body(server_.held_, options_->held_bytes);
    body_ = &body;
    ReceivedRequest received;
    HttpAnswer answer;
    bool goes_on = false;
    try {
      read_request(*this, received_, {.body_bytes = options_->body_bytes}, received);
      if (!open_.has_request(received.is_http_1_1)) throw too_slow();
      received.request.address = address_;
      received.request.cancel = std::move(cancel);
      options_->access.require(received.request);
      answer = is_preflight(received.request) ? answer_preflight(received.request)
                                              : server_.handler_(received.request);
      goes_on = received.keep_alive && !server_.stopping_ &&
                4 * server_.connections_.count() <= 3 * options_->connections;
    } catch (const HttpError& error) {
      answer = refusal(received.request.path, error);
    }
    options_->access.allow(received.request, answer);
    body_bytes_ = 0;
    goes_on = send(answer, received, goes_on) && goes_on;
    if (options_->log)
      options_->log({.address = address_,
                     .method = received.request.method,
                     .path = received.request.path,
                     .is_http_1_1 = received.is_http_1_1,
                     .status = answer.status,
                     .body_bytes = body_bytes_,
                     .end = std::chrono::system_clock::now(),
                     .seconds = std::chrono::duration<double>(Clock::now() - begun).count()});
    return goes_on;
  }

  static HttpError too_slow() {
    return {503, "The server has much to do, and this request arrived too slowly.", 1};
  }

  bool receive(std::string& to) override {
    const auto left = std::chrono::duration_cast<milliseconds>(arrives_until_ - Clock::now());
    if (!socket_.has_input(std::max(left, milliseconds(0))))
      throw HttpError(408, "The request did not arrive in time.");
    if (socket_.receive(to)) return true;
    if (open_.was_ended()) throw too_slow();
    return false;
  }
  void send_continue() override { socket_.send("HTTP/1.1 100 Continue\r\n\r\n", options_->write_time); }
  void make_room(size_t bytes) override {
    const auto grow = [&] { return body_->grow(bytes); };
    if (!grow() && !server_.connections_.make_room_for_body(open_, grow)) {
      if (open_.was_ended()) throw too_slow();
      throw HttpError(503, "The server has no room for another body.", 1);
    }
    open_.holds(body_->amount());
  }

  /// Returns false if the client is gone, or if only the end of the connection tells the end of the answer.
  bool send(const HttpAnswer& answer, const ReceivedRequest& to, bool goes_on) {
    const bool chunks = answer.parts && to.is_http_1_1;
    const BodyEnd end = chunks ? BodyEnd::chunks : answer.parts ? BodyEnd::close : BodyEnd::length;
    std::string bytes =
        answer_head(answer, end,
                    goes_on && end != BodyEnd::close
                        ? std::optional(std::chrono::duration_cast<std::chrono::seconds>(options_->idle_time))
                        : std::nullopt);
    const bool has_body = to.request.method != "HEAD" && answer.status != 204 && answer.status != 304;
    if (answer.parts && has_body) return send_parts(answer, std::move(bytes), chunks) && chunks;
    if (has_body) {
      bytes += answer.body;
      body_bytes_ = answer.body.size();
    }
    open_.answers();
    return socket_.send(bytes, options_->write_time);
  }

  /// The head goes with the first part: until then it can be found out whether the client has hung up.
  bool send_parts(const HttpAnswer& answer, std::string head, bool chunks) {
    bool open = true;
    const auto send = [&](std::string_view bytes) {
      open_.answers();
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
  Socket socket_;                                  // before `open_`, which must not outlive the descriptor
  const std::string address_ = socket_.address();  // which is not known any more when the client has hung up
  OpenConnections::Open open_;
  std::string received_;  // bytes of the next request may arrive with those of this one
  Clock::time_point arrives_until_{};
  Share* body_ = nullptr;  // the bytes of the request's body
  size_t body_bytes_ = 0;  // that were sent of the answer's body
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler handler)
    : options_(std::make_shared<const HttpOptions>(options)),
      handler_(std::move(handler)),
      listening_(require_listening(options)),
      port_(port_of(listening_)),
      connections_(options.patience, options.write_time) {}

HttpServer::~HttpServer() {
  if (listening_ >= 0) ::close(listening_);
}

std::shared_ptr<const HttpOptions> HttpServer::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void HttpServer::change(const HttpOptions& options) {
  auto changed = std::make_shared<const HttpOptions>(options);
  const std::lock_guard lock(mutex_);
  options_.swap(changed);
}

void HttpServer::run() {
  started_ = true;
  while (!stopping_) accept();
  ::close(std::exchange(listening_, -1));
  threads_.clear();  // waits for them
  ended_ = true;
}

/// Takes a connection, if one comes, and gives it a thread.
void HttpServer::accept() {
  pollfd watched{listening_, POLLIN, 0};
  if (::poll(&watched, 1, static_cast<int>(slice.count())) <= 0) return;
  const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    if (const auto count = not_accepted_.add(1))
      log_warning("{} could not be accepted, at last since: {}", counted(*count, "connection"),
                  std::strerror(errno));
    std::this_thread::sleep_for(slice);  // some reasons last a moment only
    return;
  }
  threads_.remove_if([](const Thread& thread) { return thread.ended.load(); });
  // Those that have ended stay for up to half a second, until their clients have read the answer.
  const auto now = options();
  if (threads_.size() < 2 * static_cast<size_t>(now->connections) && start_thread(socket)) return;
  const std::string answer = refusal_of_connection(now->access);
  ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  char request[4096];  // the client may lose the answer if its request is not read
  ::recv(socket, request, sizeof request, MSG_DONTWAIT);
  ::close(socket);
}

/// Returns false if the system refuses another thread.
bool HttpServer::start_thread(int socket) {
  Thread& own = threads_.emplace_back();
  try {
    own.thread = std::jthread([this, &own, socket] {
      try {
        Connection(*this, socket).serve();
      } catch (const std::exception& error) {
        log_warning("a connection was given up: {}", error.what());
      }
      own.ended = true;
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
    if (std::chrono::steady_clock::now() >= until + last_moment) connections_.cut_all();
  }
}

}  // namespace sixfold::serve
