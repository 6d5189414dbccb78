#pragma once
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace sixfold::serve {

/// Decodes percent-encoded bytes such as "%C3". A "%" that is not followed by two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

/// Reads the fields of a form, or of the query of an address: "q=a+dog&q=%C3%A4". The values of a repeated
/// field keep their order. A value may contain "=". Throws an `HttpError` (400) for more than 4,096 fields.
std::multimap<std::string, std::string> parse_form(std::string_view text);

/// A file of a form (multipart/form-data).
struct Upload {
  std::string field, file_name, content_type, content;
};

/// A request as it is passed to a route.
struct HttpRequest {
  std::string method, path;                       ///< the path is decoded and has no query
  std::multimap<std::string, std::string> query;  ///< the fields of the query, decoded
  std::map<std::string, std::string> headers;     ///< by name in lower case
  std::string body;                               ///< empty for multipart/form-data
  std::multimap<std::string, std::string> form;   ///< the fields of multipart/form-data that are not files
  std::vector<Upload> files;
  std::string address;  ///< of the client
  /// Stop is requested when the client hangs up, when the time limit is over, or when the server must end.
  std::stop_token cancel = {};

  /// The value of a header, or an empty text. `name` is in lower case.
  std::string header(const std::string& name) const;
  /// The type of the body in lower case, without parameters: "application/json".
  std::string content_type() const;
};

/// Writes a part of an answer. Returns false if the client is gone.
using WritePart = std::function<bool(std::string_view)>;

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// If set, writes the body in parts, as they are computed; `body` is then not used.
  std::function<void(const WritePart&)> parts = {};
};

/// An error with the status that the client gets.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& message, std::optional<int> retry_after = {})
      : std::runtime_error(without_nul(message)), status_(status), retry_after_(retry_after) {}
  int status() const { return status_; }
  /// In seconds; for 429 and 503.
  std::optional<int> retry_after() const { return retry_after_; }

 private:
  int status_;
  std::optional<int> retry_after_;
};

/// Answers a request. Any number of threads call it at once. It must not throw.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

}  // namespace sixfold::serve
