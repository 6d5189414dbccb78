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

std::string without_controls(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0)  // U+0080 to U+009F
      result += fmt::format("\\xc2\\x{:02x}", text[++i] & 0xFF);
    else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += text[i];
  }
  return result;
}

// One call writes a whole line, so that lines of several threads are not interleaved.
static void write_whole(const char* prefix, const std::string& text) {
  const std::string line = prefix + without_controls(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

static void write_line(const std::string& text, bool warning) {
  if (silent) return;
  if (const LogSink receiver = sink) return receiver(without_controls(text), warning);
  write_whole(warning ? "warning: " : "", text);
}

void error_line(const std::string& text) { write_whole("error: ", text); }

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
