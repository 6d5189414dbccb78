#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "base/error.h"

namespace sixfold::cli {
namespace {

std::atomic<int> noted{0};

extern "C" void on_signal(int signal) {
  if (noted.exchange(signal) != 0) _exit(128 + signal);
}

}  // namespace

const std::atomic<int>& note_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGHUP, on_signal);
  return noted;
}

void check_interrupt() {
  if (noted.load() != 0) throw Cancelled();
}

int interrupt_status() { return 128 + noted.load(); }

}  // namespace sixfold::cli
