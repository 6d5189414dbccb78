#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>

namespace sixfold {

namespace {

constexpr size_t max_kept = 100;

std::atomic<bool> silent{false};
std::atomic<LogSink> sink{nullptr};
std::mutex mutex;  // guards the variables below
bool keeps_warnings = false;
std::vector<std::string> kept;
size_t not_kept = 0;

}  // namespace

void silence_log() { silent = true; }

void send_log_to(LogSink receiver) { sink = receiver; }

bool log_is_terminal() { return !sink.load() && isatty(STDERR_FILENO); }

// One call writes a whole line, so that lines of several threads are not interleaved.
static void write_line(const std::string& text, bool warning) {
  if (silent) return;
  if (const LogSink receiver = sink) return receiver(text, warning);
  const std::string line = (warning ? "warning: " : "") + text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void log_line(const std::string& text) { write_line(text, false); }

void warn_line(const std::string& text) {
  write_line(text, true);
  const std::lock_guard lock(mutex);
  if (!keeps_warnings) return;
  if (kept.size() < max_kept)
    kept.push_back(text);
  else
    ++not_kept;
}

void keep_warnings() {
  const std::lock_guard lock(mutex);
  keeps_warnings = true;
}

std::vector<std::string> kept_warnings() {
  const std::lock_guard lock(mutex);
  std::vector<std::string> all = kept;
  if (not_kept > 0) all.push_back(fmt::format("{} more warnings are not shown", not_kept));
  return all;
}

}  // namespace sixfold
