#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "base/file.h"
#include "program/program.h"

/// Opens standard streams that are closed. Otherwise files that the program opens would get their descriptors,
/// and receive what is printed. Writing to a closed standard output still fails.
static void reserve_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char** argv) {
  reserve_standard_streams();
  sixfold::remove_temporary_files_on_signals();
  std::signal(SIGPIPE, SIG_IGN);  // a write to a closed pipe then fails instead
  std::signal(SIGCHLD, SIG_DFL);  // so that the exit status of child processes can be read
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit on file sizes then fails, too
  return sixfold::cli::run(argc, argv, sixfold::cli::builtin_tables());
}
