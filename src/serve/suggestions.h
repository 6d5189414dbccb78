#pragma once
#include <mutex>
#include <optional>
#include <string>

#include "base/file.h"

namespace sixfold::serve {

/// Better translations that clients suggest, as lines of JSON in a file. Safe to share between threads.
class Suggestions {
 public:
  static constexpr int64_t max_bytes = 64 << 20;  ///< of the file

  /// `path`: the file, which may exist and is then continued; empty: no suggestions are taken. Throws an input
  /// error if it is something else, and an environment error if it can't be written.
  explicit Suggestions(const std::string& path);

  bool taken() const { return file_.has_value(); }
  /// Appends a line. Throws an `HttpError`: 403 if no suggestions are taken, 507 if the file is full.
  void add(const std::string& line);

 private:
  std::mutex mutex_;
  std::optional<AppendingFile> file_;
};

}  // namespace sixfold::serve
