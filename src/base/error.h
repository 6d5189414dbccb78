#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace sixfold {

/// Whose turn it is to mend an error: the caller's input (a flag, a file, a shape), or the environment of the
/// process (disk full, out of memory). The command line exits with 2 for the first and with 1 for the second.
enum class Fault { input, environment };

/// The one exception of the library. Its message says what is wrong, where (file and line, key, or tensor and
/// shape) and how to mend it.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

/// Thrown where the caller asked for an end of the work.
class Cancelled : public Error {
 public:
  Cancelled() : Error(Fault::environment, "cancelled") {}
};

/// Throws an `Error` that blames the input.
template <class... Args>
[[noreturn]] void throw_input_error(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Fault::input, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an `Error` that blames the environment.
template <class... Args>
[[noreturn]] void throw_environment_error(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Fault::environment, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an input error unless `condition` holds.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_input_error(format, std::forward<Args>(args)...);
}

}  // namespace sixfold
