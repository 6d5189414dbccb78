#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace sixfold {

/// The cause of an error: the caller's input (an option, a file, a shape), or the environment of the process (a
/// full disk, no memory). The command line exits with status 2 for the first and 1 for the second.
enum class Fault { input, environment };

/// The only exception that the library throws. Its message says what is wrong, where (file and line, key, or
/// tensor and shape) and how to fix it.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

/// Thrown when the caller has cancelled an operation.
class Cancelled : public Error {
 public:
  Cancelled() : Error(Fault::environment, "cancelled") {}
};

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

/// Throws an input error unless `condition` is true.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_input_error(format, std::forward<Args>(args)...);
}

}  // namespace sixfold
