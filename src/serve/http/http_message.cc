#include "serve/http/http_message.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>

#include "base/ascii.h"
#include "serve/http/multipart.h"

namespace sixfold::serve {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

/// The limit of a line between the chunks of a body, and of all trailers after the last chunk.
constexpr size_t max_chunk_line_bytes = 4096;
constexpr size_t max_method_bytes = 32;

std::string_view view(string_view text) { return {text.data(), text.size()}; }

HttpError body_too_large(const RequestLimits& limits) {
  return {413, fmt::format("The body is longer than {} bytes.", limits.body_bytes)};
}

HttpError target_too_long(const RequestLimits& limits) {
  return {414, fmt::format("The address is longer than {} bytes.", limits.target_bytes)};
}

HttpError not_valid(const std::string& why) {
  return {400, fmt::format("The request is not valid HTTP: {}.", why)};
}

/// Removes the scheme and the authority of a target in absolute form, which clients of proxies send (RFC
/// 9112, 3.2.2), and returns the authority; empty if the target has none.
std::string take_authority(std::string& target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!ascii_lower(std::string_view(target).substr(0, scheme.size())).starts_with(scheme)) continue;
    const size_t end = std::min(target.find_first_of("/?", scheme.size()), target.size());
    std::string authority = target.substr(scheme.size(), end - scheme.size());
    target.erase(0, end);
    if (!target.starts_with('/')) target.insert(0, "/");
    return authority;
  }
  return {};
}

/// Reads a request by Beast's parser, which parses the request line, the headers and the chunks. This class is
/// stricter than Beast: it refuses more requests.
class Parser final : public http::basic_parser<true> {
 public:
  Parser(RequestSource& source, const RequestLimits& limits, ReceivedRequest& to)
      : source_(source), limits_(limits), to_(to), request_(to.request) {
    header_limit(static_cast<uint32_t>(limits.head_bytes));
    body_limit(limits.body_bytes);
  }

  /// Parses as much of `bytes` as possible, and returns the number of parsed bytes. Sets `more` if it needs
  /// more bytes to go on.
  size_t read(std::string_view bytes, bool& more) {
    const bool in_head = !is_header_done();
    const size_t body = request_.body.size();
    error_code error;
    const size_t count = put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    more = error == http::error::need_more;
    if (error == http::error::body_limit) throw body_too_large(limits_);
    if (error == http::error::header_limit) throw head_too_large();
    if (error && !more) throw not_valid(error.message());
    const std::string_view read = bytes.substr(0, count), waiting = more ? bytes.substr(count) : "";
    if (in_head)
      check_head(read, waiting);
    else
      check_body(read, waiting, request_.body.size() - body);
    return count;
  }

  /// The minimum number of bytes to pass to `read`. The end of a chunked body has five bytes, and Beast treats
  /// a call with fewer as a programming error.
  size_t min_bytes() const { return is_header_done() && chunked() ? 5 : 1; }

  /// Whether the client waits for "100 Continue" before it sends the body.
  bool waits_for_continue() const {
    return is_header_done() && to_.is_http_1_1 && request_.headers.contains("expect");
  }

 private:
  HttpError head_too_large() const {
    return {431, fmt::format("The headers are longer than {} bytes.", limits_.head_bytes)};
  }

  /// `read`: complete lines that were parsed; `waiting`: bytes of a line, or of headers, whose end has not
  /// arrived. Whether a request is refused does not depend on how its bytes are split into packets.
  void check_head(std::string_view read, std::string_view waiting) {
    head_bytes_ += read.size();
    if (head_bytes_ + waiting.size() + (is_header_done() ? 0 : 1) > limits_.head_bytes) throw head_too_large();
    const std::string_view line = waiting.substr(0, limits_.target_bytes + max_method_bytes);
    if (request_.method.empty() && line.size() < waiting.size() && line.find('\n') == line.npos)
      throw target_too_long(limits_);
    // Beast joins a header that continues on the next line (RFC 9112, 5.2); other servers may see two headers.
    for (const std::string_view fold : {"\n ", "\n\t"})
      if (read.find(fold) != read.npos) throw not_valid("a header goes on in the next line");
  }

  /// `content`: the number of bytes read that belong to the body itself, not to the lines between chunks.
  void check_body(std::string_view read, std::string_view waiting, size_t content) {
    body_bytes_ += read.size();  // includes the lengths of chunks, which are most bytes if chunks are small
    if (body_bytes_ > limits_.body_bytes + limits_.head_bytes) throw body_too_large(limits_);
    if (read.size() - content + waiting.size() > max_chunk_line_bytes)
      throw not_valid("the line before a chunk is too long");
  }

  void on_request_impl(http::verb, string_view method, string_view target, int version, error_code&) override {
    request_.method = view(method);
    to_.is_http_1_1 = version == 11;
    std::string address(view(target));
    authority_ = take_authority(address);
    const size_t end = std::min(address.find('#'), address.size()), mark = address.find('?');
    request_.path = percent_decoded(std::string_view(address).substr(0, std::min(mark, end)));
    if (target.size() > limits_.target_bytes) throw target_too_long(limits_);
    if (mark < end) request_.query = parse_form(std::string_view(address).substr(mark + 1, end - mark - 1));
    const auto methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    if (std::ranges::find(methods, request_.method) == methods.end())
      throw HttpError(501, "The server does not know this method.");
  }

  void on_field_impl(http::field field, string_view name, string_view text, error_code&) override {
    if (is_header_done()) return;  // a trailer, which follows the chunks
    const std::string_view value = view(text);
    const bool first = request_.headers.try_emplace(ascii_lower(view(name)), value).second;
    if (field == http::field::host && !first) throw not_valid("it has two hosts");
    if (field == http::field::origin && !first) throw not_valid("it has two origins");
    if (field == http::field::content_length && (!first || !std::ranges::all_of(value, is_ascii_digit)))
      throw not_valid("the length of the body is given twice");
    if (field != http::field::transfer_encoding) return;
    if (!to_.is_http_1_1) throw not_valid("HTTP/1.0 has no Transfer-Encoding");
    if (ascii_lower(value) != "chunked")
      throw HttpError(501, "A body comes whole, or with Transfer-Encoding: chunked.");
  }

  void on_header_impl(error_code&) override {
    if (to_.is_http_1_1 && !request_.headers.contains("host")) throw not_valid("it has no Host");
    if (!authority_.empty()) request_.headers["host"] = authority_;
    const std::string encoding = ascii_lower(request_.header("content-encoding"));
    if (!encoding.empty() && encoding != "identity") throw HttpError(415, "Bodies are not compressed.");
    const std::string expected = ascii_lower(request_.header("expect"));
    if (!expected.empty() && expected != "100-continue")
      throw HttpError(417, "The server does not know what this request expects.");
    to_.keep_alive = keep_alive();
  }

  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}

  size_t on_body_impl(string_view bytes, error_code&) override {
    source_.reserve_body(bytes.size());
    request_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  size_t on_chunk_body_impl(uint64_t, string_view bytes, error_code& error) override {
    return on_body_impl(bytes, error);
  }
  void on_chunk_header_impl(uint64_t, string_view extensions, error_code&) override {
    if (std::ranges::any_of(extensions, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; }))
      throw not_valid("the line before a chunk has control characters");
  }
  void on_finish_impl(error_code&) override {}
  void on_response_impl(int, string_view, int, error_code&) override {}

  RequestSource& source_;
  const RequestLimits& limits_;
  ReceivedRequest& to_;
  HttpRequest& request_;
  std::string authority_;  // the name of the server in the target
  size_t head_bytes_ = 0, body_bytes_ = 0;
};

}  // namespace

void read_request(RequestSource& source, std::string& received, const RequestLimits& limits,
                  ReceivedRequest& to) {
  to = {};
  Parser parser(source, limits, to);
  size_t begin = 0;
  const auto receive = [&] {
    received.erase(0, begin);
    begin = 0;
    if (!source.receive(received)) throw HttpError(400, "The request is not complete.");
  };
  // Some clients send an empty line after a body (RFC 9112, 2.2).
  const std::string_view empty_line = "\r\n";
  while (received.size() < empty_line.size() && empty_line.starts_with(received)) receive();
  if (received.starts_with(empty_line)) begin = empty_line.size();
  bool more = false, sent_continue = false;
  while (!parser.is_done()) {
    if (!more && received.size() - begin >= parser.min_bytes()) {
      begin += parser.read(std::string_view(received).substr(begin), more);
      continue;
    }
    if (parser.waits_for_continue() && !sent_continue) source.send_continue();
    sent_continue = parser.waits_for_continue();
    receive();
    more = false;
  }
  received.erase(0, begin);
  if (to.request.content_type() == "multipart/form-data") read_multipart(to.request);
}

std::string answer_head(const HttpAnswer& answer, BodyEnd end, std::optional<std::chrono::seconds> idle_time) {
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(answer.status)));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, view(reason));
  const auto add = [&](const std::string& name, const std::string& value) {
    head += fmt::format("{}: {}\r\n", name, value);
  };
  for (const auto& [name, value] : answer.headers) add(name, value);
  if (answer.status != 204 && answer.status != 304) {
    add("Content-Type", answer.content_type);
    if (end == BodyEnd::length) add("Content-Length", std::to_string(answer.body.size()));
    if (end == BodyEnd::chunks) add("Transfer-Encoding", "chunked");
  }
  add("Connection", idle_time ? "keep-alive" : "close");
  if (idle_time) add("Keep-Alive", fmt::format("timeout={}", idle_time->count()));
  return head + "\r\n";
}

}  // namespace sixfold::serve
