#pragma once
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/api.h"

namespace sixfold {

/// The cause of an error: the caller's input (an option, a file, a shape), the environment of the process (a
/// full disk, no memory), or a mistake in this program. The command line exits with status 2 for the first and
/// 1 for the others.
enum class Fault { input, environment, program };

/// The message of an exception, in which NULs, which would end it, become U+FFFD.
inline std::string without_nul(std::string_view message) {
  std::string text;
  for (size_t nul; (nul = message.find('\0')) != message.npos; message.remove_prefix(nul + 1))
    text.append(message.substr(0, nul)) += "\uFFFD";
  return text.append(message);
}

/// The only exception that the library throws. Its message says what is wrong, where (file and line, key, or
/// tensor and shape) and how to fix it.
class SIXFOLD_API Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message) : std::runtime_error(without_nul(message)), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

/// Thrown when the caller has cancelled an operation.
class SIXFOLD_API Cancelled : public Error {
 public:
  Cancelled() : Error(Fault::environment, "cancelled") {}
};

/// Throws `Cancelled` if `stop` is not null and what it points to is not 0, such as the number of a signal.
inline void throw_if_stopped(const std::atomic<int>* stop) {
  if (stop && stop->load() != 0) throw Cancelled();
}

/// Throws an `Error` with `Fault::input`.
template <class... Args>
[[noreturn]] void throw_input_error(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Fault::input, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an `Error` with `Fault::environment`.
template <class... Args>
[[noreturn]] void throw_environment_error(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Fault::environment, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an error with `Fault::program` that names the value. It stands after a switch that handles every
/// enumerator and has no `default`, so that the compiler refuses a switch that forgets one.
template <class Enum>
[[noreturn]] void throw_unknown(std::string_view what, Enum value) {
  throw Error(Fault::program, fmt::format("unknown {} {}; this should not happen, please report it", what,
                                          static_cast<int64_t>(value)));
}

/// Throws an input error unless `condition` is true.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_input_error(format, std::forward<Args>(args)...);
}

}  // namespace sixfold
