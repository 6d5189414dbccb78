#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace sixfold {

/// `text` for a terminal: control characters other than line feeds and tabs, which could move the cursor or
/// change colours, are written as \x and two hexadecimal digits for each byte.
std::string without_controls(std::string_view text);

/// Write one line to standard error, without controls; `warn_line` puts "warning: " before it and `error_line`
/// "error: ". Any number of threads may call them.
void log_line(const std::string& text);
void warn_line(const std::string& text);
/// Errors are written whatever happens to the rest of the log.
void error_line(const std::string& text);
/// From now on nothing is written. Of several processes that work together, all but one call this.
void silence_log();
/// Receives a line without a line end; any thread may call it.
using LogSink = void (*)(const std::string& text, bool warning);
/// From now on lines go to `sink` instead of standard error.
void send_log_to(LogSink sink);
/// Whether lines are shown on a terminal, where a line can be overwritten.
bool log_is_terminal();
/// From now on the first 100 warnings are kept, written or not; one more says how many others there were.
void keep_warnings();
std::vector<std::string> kept_warnings();

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  warn_line(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sixfold
