#pragma once
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace sixfold {

/// A program that is run to its end.
struct Subprocess {
  std::string command;                     ///< of /bin/sh
  double timeout = 0;                      ///< seconds after which it is ended
  size_t max_output = 0;                   ///< bytes of standard output after which it is ended
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// Runs a program that gets `input` on standard input, and returns what it prints to standard output. Its
/// standard error is that of this process. It need not read its input. When the function returns or throws, all
/// processes of the program's process group have been killed; if this process is killed, only the shell is
/// killed with it. Throws an environment error that names the command if it can't be started, does not end with
/// status 0, or exceeds a limit.
std::string run_subprocess(const Subprocess& program, std::string_view input);

}  // namespace sixfold
