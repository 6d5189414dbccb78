#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace sixfold {

/// Ends this process with an error if it has not been destroyed within a time: for calls of a library that may
/// wait for ever and can't be cancelled.
class Watchdog {
 public:
  /// `what` is the whole message, without "error: ".
  Watchdog(double seconds, std::string what);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace sixfold
