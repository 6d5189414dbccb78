#pragma once
#include <atomic>
#include <stop_token>
#include <thread>

namespace sixfold::cli {

/// From now on a first Ctrl-C, SIGTERM, SIGHUP or SIGUSR1 is only recorded; a second one ends the process at
/// once. A signal that is ignored, as SIGHUP under nohup, remains so. Files are complete at any time, since
/// they are written to temporary names. Returns the number of the recorded signal, which is 0 before one
/// arrives.
const std::atomic<int>& note_interrupts();

/// Throws `Cancelled` if a signal was recorded, so that no incomplete files are left.
void check_interrupt();

/// Requests stop soon after a signal was recorded, for work that is cancelled by a stop token rather than by
/// `check_interrupt`. The constructor calls `note_interrupts`.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread watcher_;  // not running if the system can't start a thread
};

/// The exit status for the recorded signal: 128 + its number.
int interrupt_status();

}  // namespace sixfold::cli
