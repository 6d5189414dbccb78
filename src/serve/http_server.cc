#include "serve/http_server.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <thread>

#include "base/ascii.h"
#include "base/error.h"
#include "base/log.h"
#include "serve/connection.h"
#include "serve/connection_threads.h"
#include "serve/library_request.h"
#include "serve/open_connections.h"
#include "serve/refusal.h"
#include "serve/request_watch.h"

namespace sixfold::serve {
namespace {

using std::chrono::milliseconds;

constexpr size_t longest_path = 2048;
/// After the grace time: for requests that were cancelled to send their answer.
constexpr milliseconds last_moment{500};

/// The connection whose request this thread answers: the library has no other way to hand it to a handler.
thread_local Connection* this_connection = nullptr;
thread_local OpenConnections::Open* this_open = nullptr;
thread_local const RequestWatch::Watched* this_watched = nullptr;
/// Whether the library has understood the request that this thread answers.
thread_local bool this_understood = false;

HttpRequest watched_request(const httplib::Request& from) {
  HttpRequest request = request_of(from);
  if (this_watched) request.cancel = this_watched->token();
  return request;
}

void fill(httplib::Response& to, HttpAnswer from);

/// Answers a client whose connection was ended to make room.
void refuse_ended(const std::string& path, httplib::Response& response) {
  fill(response, refusal(path, 503, "The server has much to do, and this request arrived too slowly."));
  response.set_header("Retry-After", "1");
  response.set_header("Connection", "close");
  this_connection->linger_after_end();
}

/// Says what is wrong with a request that the library refuses by itself.
void explain(const httplib::Request& request, httplib::Response& response) {
  if (!response.body.empty()) return;
  if (response.status == 400 && this_open->was_ended()) return refuse_ended(request.path, response);
  const char* message = response.status == 400   ? "The request is not valid HTTP."
                        : response.status == 404 ? "There is nothing at this address."
                        : response.status == 413 ? "The request is too large."
                        : response.status == 414 ? "The address is too long."
                        : response.status == 416 ? "The range of bytes is not valid."
                                                 : "The server can't answer this request.";
  fill(response, refusal(request.path, response.status, message));
}

/// Leaves one header of those by which the library and this server tell whether the connection goes on.
void tell_once_whether_it_goes_on(httplib::Response& response) {
  if (!this_understood) response.set_header("Connection", "close");
  if (response.get_header_value("Connection") != "close") return;
  response.headers.erase("Connection");
  response.headers.erase("Keep-Alive");
  response.set_header("Connection", "close");
}

void fill(httplib::Response& to, HttpAnswer from) {
  to.status = from.status;
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  if (!from.parts) return to.set_content(from.body, from.content_type);
  to.set_chunked_content_provider(
      from.content_type, [parts = std::move(from.parts)](size_t, httplib::DataSink& sink) {
        bool open = true;
        try {
          parts([&](std::string_view part) {
            open = open && sink.is_writable() && sink.write(part.data(), part.size());
            return open;
          });
        } catch (const std::exception& error) {  // the status has been sent
          log_warning("an answer was not finished: {}", error.what());
          open = false;
        }
        if (open) sink.done();
        return open;
      });
}

void require_address(const std::string& host) {
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (found) ::freeaddrinfo(found);
  require(error == 0, "host '{}': is not an address of this machine ({})", host, ::gai_strerror(error));
}

}  // namespace

/// The library's server, with connections of our own.
class HttpServer::Library final : public httplib::Server {
 public:
  Library(const HttpOptions& options, HttpHandler handler)
      : options_(options),
        handler_(std::move(handler)),
        connections_(options.patience),
        watch_(options.write_time) {
    new_task_queue = [this] { return new ConnectionThreads(open_); };
    set_tcp_nodelay(true);
    set_socket_options([](int socket) {  // the library's own let two servers share a port
      const int on = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      this_understood = true;
      return refuse_early(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
    });
    const auto plain = [this](const httplib::Request& request, httplib::Response& response) {
      answer_plain(request, response);
    };
    const auto with_body = [this](const httplib::Request& request, httplib::Response& response,
                                  const httplib::ContentReader& content) {
      answer_with_body(request, response, content);
    };
    const char* any = "[\\s\\S]*";
    Get(any, plain);
    Options(any, plain);
    Post(any, with_body);
    Put(any, with_body);
    Patch(any, with_body);
    Delete(any, with_body);
    set_error_handler(explain);
    set_post_routing_handler(
        [](const httplib::Request&, httplib::Response& response) { tell_once_whether_it_goes_on(response); });
    set_keep_alive_max_count(1000);
    set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(options.idle_time).count());
  }

  int port = 0;

  bool bind(int asked) {
    if (asked == 0) {
      port = bind_to_any_port(options_.host);
      if (port <= 0) return false;
    } else {
      if (!bind_to_port(options_.host, asked)) return false;
      port = asked;
    }
    // The library lets five connections wait to be accepted; more that come at once would lose seconds.
    return ::listen(svr_sock_, SOMAXCONN) == 0;
  }

  /// The library ends listening when the system can't accept a connection, of which some last a moment only.
  void run() {
    started_ = true;
    while (!stopping_) {
      listen_after_bind();
      if (stopping_) break;
      log_warning("a connection could not be accepted ({}); listening again", std::strerror(errno));
      while (!stopping_ && !bind(port)) std::this_thread::sleep_for(milliseconds(200));
    }
    ended_ = true;
  }

  /// The library does not notice a stop while it begins to listen, so that it is told until it ends.
  void end(milliseconds grace) {
    const auto until = std::chrono::steady_clock::now() + grace;
    stopping_ = true;
    if (!started_) return;
    for (; !ended_; std::this_thread::sleep_for(milliseconds(5))) {
      stop();
      if (std::chrono::steady_clock::now() >= until) watch_.end_all();
      if (std::chrono::steady_clock::now() >= until + last_moment) watch_.cut_all();
    }
  }

 private:
  /// Refuses what the library would read without a limit, or what proxies and servers could read differently.
  bool refuse_early(const httplib::Request& request, httplib::Response& response) const {
    const auto refuse = [&](int status, const std::string& message) {
      refuse_unread(request, response, status, message);
      return true;
    };
    if (request.method == "TRACE" || request.method == "CONNECT" || request.method == "PRI")
      return refuse(405, "The server does not know this method.");
    if (request.target.size() > longest_path)
      return refuse(414, fmt::format("The address is longer than {} bytes.", longest_path));
    if (request.get_header_value_count("Content-Length") > 1 ||
        (request.has_header("Content-Length") && request.has_header("Transfer-Encoding")))
      return refuse(400, "The length of the body is given twice.");
    if (request.has_header("Transfer-Encoding") &&
        (request.get_header_value_count("Transfer-Encoding") > 1 ||
         ascii_lower(request.get_header_value("Transfer-Encoding")) != "chunked"))
      return refuse(501, "A body comes whole, or with Transfer-Encoding: chunked.");
    if (request.has_header("Content-Encoding") &&
        ascii_lower(request.get_header_value("Content-Encoding")) != "identity")
      return refuse(415, "Bodies are not compressed.");
    if (const std::string length = request.get_header_value("Content-Length"); !length.empty()) {
      uint64_t bytes = 0;
      const char* const end = length.data() + length.size();
      const auto [read, error] = std::from_chars(length.data(), end, bytes);
      if (error == std::errc::invalid_argument || read != end)
        return refuse(400, "The length of the body is not a number.");
      if (error != std::errc{} || bytes > options_.body_bytes) return refuse(413, too_long());
    }
    return false;
  }

  /// Answers a request of a method for which the library reads no body. A few clients send one all the same.
  void answer_plain(const httplib::Request& from, httplib::Response& to) {
    if (from.has_header("Transfer-Encoding"))
      return refuse_unread(from, to, 400, fmt::format("A {} request has no body in chunks.", from.method));
    HttpRequest request = watched_request(from);
    BodyRoom room = room_for_body();
    char some[4096];
    for (auto left = from.get_header_value<uint64_t>("Content-Length"); left > 0;) {
      const ssize_t count = this_connection->read(some, std::min<uint64_t>(left, sizeof some));
      if (count <= 0 || !room.take(static_cast<size_t>(count))) return refuse_body(from, to, room);
      request.body.append(some, static_cast<size_t>(count));
      left -= static_cast<uint64_t>(count);
    }
    answer_whole(request, to);
  }

  void answer_whole(const HttpRequest& request, httplib::Response& to) const {
    if (!this_open->has_request()) return refuse_ended(request.path, to);
    fill(to, handler_(request));
  }

  void answer_with_body(const httplib::Request& from, httplib::Response& to,
                        const httplib::ContentReader& content) {
    HttpRequest request = watched_request(from);
    const bool chunked = from.has_header("Transfer-Encoding");
    if (!chunked && !from.has_header("Content-Length")) return answer_whole(request, to);  // there is no body
    // The library does not check all of a body in chunks, so that what follows may not be a request.
    if (chunked) close_afterwards(to);
    BodyRoom room = room_for_body();
    const bool complete =
        from.is_multipart_form_data() ? read_form(content, room, request) : read_body(content, room, request);
    if (complete) return answer_whole(request, to);
    refuse_body(from, to, room);
  }

  /// A body is expected from now on.
  BodyRoom room_for_body() {
    this_connection->begin_body();
    return {options_.body_bytes, held_, options_.held_bytes, connections_, *this_open};
  }

  /// Refuses a request whose body was not read to its end.
  void refuse_body(const httplib::Request& from, httplib::Response& to, const BodyRoom& room) const {
    if (this_open->was_ended()) return refuse_ended(from.path, to);
    if (room.lack() == BodyRoom::Lack::server_full) {
      refuse_unread(from, to, 503, "The server has no room for another body.");
      return to.set_header("Retry-After", "1");
    }
    if (room.lack() == BodyRoom::Lack::too_large || this_connection->too_large())
      return refuse_unread(from, to, 413, too_long());
    refuse_unread(from, to, this_connection->timed_out() ? 408 : 400,
                  "The body of the request is not complete.");
  }

  std::string too_long() const { return fmt::format("The body is longer than {} bytes.", options_.body_bytes); }

  /// Refuses a request that is not read to its end, so that the connection must end.
  static void refuse_unread(const httplib::Request& request, httplib::Response& response, int status,
                            const std::string& message) {
    fill(response, refusal(request.path, status, message));
    close_afterwards(response);
  }

  static void close_afterwards(httplib::Response& response) {
    response.set_header("Connection", "close");
    this_connection->linger();
  }

  bool process_and_close_socket(int socket) override {
    Connection connection(socket, {.body_bytes = options_.body_bytes,
                                   .request_time = options_.arrival_time,
                                   .idle_time = options_.idle_time,
                                   .write_time = options_.write_time});
    // Those that have ended stay for up to half a second, until their clients have read the answer.
    const bool crowded = ConnectionThreads::refuses() || open_ > 2 * options_.connections;
    OpenConnections::Open open(connections_, socket);
    const bool full = connections_.count() > options_.connections;
    if (crowded || (full && !connections_.make_room())) return refuse(connection);
    this_connection = &connection;
    this_open = &open;
    const auto ending = [this] { return stopping_.load(); };
    while (connection.wait_for_request(ending)) {
      connection.begin_request();
      open.waits();
      const RequestWatch::Watched watched(watch_, socket, options_.request_time);
      this_watched = &watched;
      const bool last = stopping_ || 4 * open_ > 3 * options_.connections;
      bool closed = false;
      this_understood = false;
      const bool answered = process_request(connection, last, closed, prepare);
      this_watched = nullptr;
      // What follows a request that was not understood may be its body, and not another request.
      if (!this_understood) connection.linger();
      if (!answered || closed || last || connection.lingers() || connection.timed_out()) break;
      open.waits();
    }
    this_connection = nullptr;
    this_open = nullptr;
    return true;
  }

  /// Neither compressed nor partial answers: compression at the library's level costs more than a translation.
  static void prepare(httplib::Request& request) {
    name_boundary(request);
    request.headers.erase("Accept-Encoding");
    request.headers.erase("Range");
    request.ranges.clear();
  }

  /// The request is not read, so that the face is not known: the error has the fields of two.
  static bool refuse(Connection& connection) {
    const std::string message = "The server has too many connections.";
    const std::string body = fmt::format(R"({{"error":"{}","message":"{}"}})", message, message);
    HttpAnswer headers;
    allow_other_origins(headers);
    std::string answer =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
        "Content-Type: application/json\r\n";
    for (const auto& [name, value] : headers.headers) answer += fmt::format("{}: {}\r\n", name, value);
    answer += fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
    connection.linger();
    return connection.write(answer.data(), answer.size()) > 0;
  }

  const HttpOptions options_;
  const HttpHandler handler_;
  std::atomic<int> open_{0};
  std::atomic<bool> started_{false}, stopping_{false}, ended_{false};
  std::atomic<size_t> held_{0};  // bytes of bodies
  OpenConnections connections_;
  RequestWatch watch_;
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler handler)
    : library_(std::make_unique<Library>(options, std::move(handler))) {
  require_address(options.host);
  const auto failed = [&] {
    throw_environment_error("can't listen to {} port {}: {}", options.host, options.port, std::strerror(errno));
  };
  if (!library_->bind(options.port)) failed();
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return library_->port; }

void HttpServer::run() { library_->run(); }

void HttpServer::stop(milliseconds grace) { library_->end(grace); }

}  // namespace sixfold::serve
