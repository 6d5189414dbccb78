#pragma once
#include <optional>
#include <string>

#include "base/file.h"
#include "serve/http/http_server.h"
#include "serve/http/rate_limited_warning.h"

namespace sixfold::serve {

/// Writes a line for each request in the common log format of web servers, followed by the seconds that the
/// request took. Queries and bodies are not logged, because they contain texts and may contain API keys. Safe
/// to share between threads.
class AccessLog {
 public:
  /// `path`: the file, to which lines are added; "-": standard error. Throws an input error if the file belongs
  /// to a model or a run, is a pipe, or is not an access log, and an environment error if it can't be written.
  explicit AccessLog(const std::string& path);
  /// Adds a line. If it can't be written, logs a warning, at most once a minute.
  void add(const AnsweredRequest& request);

 private:
  std::optional<AppendingFile> file_;
  RateLimitedWarning lost_lines_;
};

/// `127.0.0.1 - - [26/Nov/2026:02:04:05 +0000] "POST /translate HTTP/1.1" 200 43 0.012`. Quotes,
/// backslashes and characters other than printable ASCII are escaped as in \xE4.
std::string access_line(const AnsweredRequest& request);

}  // namespace sixfold::serve
