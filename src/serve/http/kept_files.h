#pragma once
#include <chrono>
#include <list>
#include <mutex>
#include <string>

namespace sixfold::serve {

struct KeptFileLimits {
  size_t most = 1000;            ///< files
  size_t most_bytes = 64 << 20;  ///< of all files
  std::chrono::seconds age{1800};
};

/// Files for clients to download, in memory. A file is kept for a while; if there are too many, the oldest go
/// first. Safe to share between threads.
class KeptFiles {
 public:
  using Clock = std::chrono::steady_clock;

  explicit KeptFiles(const KeptFileLimits& limits) : limits_(limits) {}

  /// Keeps a file and returns its name, which nobody can guess, with the extension: ".txt". Throws an
  /// `HttpError` (413) if it is larger than all files may be.
  std::string add(std::string content, const std::string& extension, Clock::time_point now = Clock::now());
  /// Returns a file. Throws an `HttpError` (404) if there is none of this name.
  std::string find(const std::string& name, Clock::time_point now = Clock::now());

 private:
  struct File {
    std::string name, content;
    Clock::time_point until;
  };
  void drop_old(Clock::time_point now);
  void drop_first();

  const KeptFileLimits limits_;
  std::mutex mutex_;
  std::list<File> files_;  // oldest first
  size_t bytes_ = 0;
};

}  // namespace sixfold::serve
