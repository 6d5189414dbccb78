#include "base/log.h"

#include <atomic>
#include <cstdio>

namespace sixfold {

namespace {
std::atomic<bool> silent{false};
}

void silence_log() { silent = true; }

// One call writes a whole line, so that lines of several threads are not interleaved.
void log_line(const std::string& text) {
  if (silent) return;
  const std::string line = text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void warn_line(const std::string& text) { log_line("warning: " + text); }

}  // namespace sixfold
