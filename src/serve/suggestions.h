#pragma once
#include <mutex>
#include <optional>
#include <string>

#include "base/file.h"

namespace sixfold::serve {

/// Stores translations that clients suggest, as lines of JSON in a file. Safe to share between threads.
class Suggestions {
 public:
  static constexpr int64_t max_bytes = 64 << 20;  ///< of the file

  /// `path`: the file, to which suggestions are appended if it exists; empty: no suggestions are accepted.
  /// Throws an input error if the file contains something else, and an environment error if it can't be
  /// written.
  explicit Suggestions(const std::string& path);

  bool enabled() const { return file_.has_value(); }
  /// Appends a line. Throws an `HttpError`: 403 if no suggestions are accepted, 507 if the file is full.
  void add(const std::string& line);

 private:
  std::mutex mutex_;
  std::optional<AppendingFile> file_;
};

}  // namespace sixfold::serve
