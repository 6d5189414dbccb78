#include "program/kit/interrupt.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>

#include "base/error.h"

namespace sixfold::cli {
namespace {

std::atomic<int> recorded_signal{0};

extern "C" void on_signal(int signal) {
  if (recorded_signal.exchange(signal) != 0) _exit(128 + signal);
}

}  // namespace

const std::atomic<int>& note_interrupts() {
  // Launchers of several processes pass SIGUSR1 on.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;  // as under nohup
    std::signal(signal, on_signal);
  }
  return recorded_signal;
}

void check_interrupt() {
  if (recorded_signal.load() != 0) throw Cancelled();
}

StopOnInterrupt::StopOnInterrupt() {
  note_interrupts();
  const auto watch = [this](const std::stop_token& ended) {
    // A signal handler may not notify; the end of `this` does, so that nobody waits for the thread.
    const auto signalled = [] { return recorded_signal.load() != 0; };
    std::mutex mutex;
    std::condition_variable_any end;
    std::unique_lock lock(mutex);
    while (!ended.stop_requested() && !signalled())
      end.wait_for(lock, ended, std::chrono::milliseconds(20), signalled);
    if (signalled()) stop_.request_stop();
  };
  try {
    watcher_ = std::jthread(watch);
  } catch (const std::system_error&) {
    // Without the thread, signals are noticed only by `check_interrupt`.
  }
}

int interrupt_status() { return 128 + recorded_signal.load(); }

}  // namespace sixfold::cli
