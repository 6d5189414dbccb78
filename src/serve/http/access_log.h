#pragma once
#include <optional>
#include <string>

#include "base/file.h"
#include "serve/http/http_server.h"
#include "serve/http/rare_warning.h"

namespace sixfold::serve {

/// A line for each request in the common log format of web servers, with the seconds that it took at its end.
/// Neither the query nor the body is told, which have texts and may have keys. Safe to share between threads.
class AccessLog {
 public:
  /// `path`: the file, to which lines are added; "-": standard error. Throws an input error if the file belongs
  /// to a model or a run, is a pipe, or has lines of other text, and an environment error if it can't be
  /// written.
  explicit AccessLog(const std::string& path);
  /// Adds a line. If that is not possible, the log of the server says so once a minute.
  void add(const AnsweredRequest& request);

 private:
  std::optional<AppendingFile> file_;
  RareWarning lost_;
};

/// `127.0.0.1 - - [26/Nov/2026:02:04:05 +0000] "POST /translate HTTP/1.1" 200 43 0.012`. What is not printable
/// ASCII, and quotes, are written as \xE4.
std::string access_line(const AnsweredRequest& request);

}  // namespace sixfold::serve
