#include "train/distributed/watchdog.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace sixfold {

Watchdog::Watchdog(double seconds, std::string what)
    : thread_([this, seconds, what = std::move(what)] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return done_; })) return;
        const std::string line = "error: " + what + "\n";
        std::fwrite(line.data(), 1, line.size(), stderr);
        std::_Exit(1);
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace sixfold
