#pragma once
#include <chrono>
#include <list>
#include <mutex>
#include <string>

namespace sixfold::serve {

struct KeptFileLimits {
  size_t max_count = 1000;      ///< number of files
  size_t max_bytes = 64 << 20;  ///< of all files
  std::chrono::seconds max_age{1800};
};

/// Files that clients can download, in memory. A file is removed when it is older than `max_age`, or, if there
/// are too many or too large files, when it is the oldest. Safe to share between threads.
class KeptFiles {
 public:
  using Clock = std::chrono::steady_clock;

  explicit KeptFiles(const KeptFileLimits& limits) : limits_(limits) {}

  /// Stores a file and returns its name: a random name with `extension`, such as ".txt". Throws an `HttpError`
  /// (413) if the file is larger than the limit of all files.
  std::string add(std::string content, const std::string& extension, Clock::time_point now = Clock::now());
  /// Returns the content of a file. Throws an `HttpError` (404) if there is no file with this name.
  std::string find(const std::string& name, Clock::time_point now = Clock::now());

 private:
  struct File {
    std::string name, content;
    Clock::time_point expires;
  };
  void drop_expired(Clock::time_point now);
  void drop_oldest();

  const KeptFileLimits limits_;
  std::mutex mutex_;
  std::list<File> files_;  // oldest first
  size_t bytes_ = 0;
};

}  // namespace sixfold::serve
