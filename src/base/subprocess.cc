#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace sixfold {
namespace {

using Clock = std::chrono::steady_clock;

/// A pipe whose ends no other program inherits.
struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw_environment_error("can't make a pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  void close(int end) {
    if (ends[end] >= 0) ::close(std::exchange(ends[end], -1));
  }

  int ends[2] = {-1, -1};  // the end to read from, the end to write to
};

/// While it exists, writing into a pipe that nobody reads is an error, and no signal ends this process.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec no_time{};
    while (::sigtimedwait(&signal_, nullptr, &no_time) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;

 private:
  sigset_t signal_{}, before_{};
};

/// A shell in a process group of its own, which ends with this object.
class Shell {
 public:
  Shell(const char* command, int input, int output) : id_(::fork()) {
    if (id_ < 0) throw_environment_error("can't start a process: {}", std::strerror(errno));
    if (id_ != 0) {
      ::setpgid(id_, id_);  // both do it, since either may be first
      return;
    }
    // The child calls only functions that are async-signal-safe, since the program may have several threads.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (::dup2(input, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0)
      ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~Shell() {
    ::kill(-id_, SIGKILL);  // before `waitpid`, after which the number may belong to another process
    ::waitpid(id_, nullptr, 0);
  }
  Shell(const Shell&) = delete;

  /// How the shell ended; `si_pid` is 0 while it is still running.
  siginfo_t ended() const {
    siginfo_t found{};
    if (::waitid(P_PID, static_cast<id_t>(id_), &found, WEXITED | WNOHANG | WNOWAIT) == 0) return found;
    // This process ignores SIGCHLD, so the system does not report how the shell ended.
    found.si_pid = id_;
    found.si_code = CLD_EXITED;
    return found;
  }
  void kill_group() const { ::kill(-id_, SIGKILL); }

 private:
  pid_t id_;
};

}  // namespace

std::string run_subprocess(const Subprocess& program, std::string_view input) {
  const NoBrokenPipe no_broken_pipe;
  Pipe input_pipe, output_pipe;
  const Shell shell(program.command.c_str(), input_pipe.ends[0], output_pipe.ends[1]);
  input_pipe.close(0);
  output_pipe.close(1);
  for (const int end : {input_pipe.ends[1], output_pipe.ends[0]}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  const auto deadline = Clock::now() + std::chrono::duration<double>(program.timeout);
  std::string output;
  siginfo_t ended{};
  bool complete = false;
  while (!complete || ended.si_pid == 0) {
    throw_if_stopped(program.stop);
    if (Clock::now() > deadline)
      throw_environment_error("'{}' did not end within {:g} seconds and was ended", program.command,
                              program.timeout);
    if (ended.si_pid == 0 && (ended = shell.ended()).si_pid != 0)
      shell.kill_group();  // so that its output ends
    if (input.empty()) input_pipe.close(1);
    pollfd ready[] = {{complete ? -1 : output_pipe.ends[0], POLLIN, 0}, {input_pipe.ends[1], POLLOUT, 0}};
    ::poll(ready, 2, 20);
    if (ready[1].revents != 0) {
      const ssize_t written = ::write(input_pipe.ends[1], input.data(), input.size());
      if (written > 0)
        input.remove_prefix(static_cast<size_t>(written));
      else if (written < 0 && errno != EAGAIN && errno != EINTR)
        input = {};  // the program no longer reads its input
    }
    if (ready[0].revents == 0 && ended.si_pid != 0)
      complete = true;  // only processes outside the group can still hold the pipe
    if (ready[0].revents != 0) {
      char bytes[1 << 16];
      const ssize_t read = ::read(output_pipe.ends[0], bytes, sizeof bytes);
      if (read > 0) output.append(bytes, static_cast<size_t>(read));
      complete = read == 0 || (read < 0 && errno != EAGAIN && errno != EINTR);
      if (output.size() > program.max_output)
        throw_environment_error("'{}' printed more than {} bytes and was ended", program.command,
                                program.max_output);
    }
  }
  if (ended.si_code != CLD_EXITED)
    throw_environment_error("'{}' was ended by signal {}", program.command, ended.si_status);
  if (ended.si_status != 0)
    throw_environment_error("'{}' ended with status {}", program.command, ended.si_status);
  return output;
}

}  // namespace sixfold
