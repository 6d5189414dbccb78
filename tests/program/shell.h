#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sixfold {

/// What a shell command printed, errors and all, and its exit status. The warning that translations may be
/// faulty is left out, since those of models that have learnt nothing are, and so is the warning that a machine
/// has fewer processors than threads are asked for.
struct Outcome {
  std::string text;
  int status = -1;
};

inline Outcome shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  char buffer[4096];
  while (const size_t read = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.text.append(buffer, read);
  for (const char* warning : {" may be faulty: ", " processor is available; ", " processors are available; "})
    for (size_t place; (place = outcome.text.find(warning)) != std::string::npos;) {
      const size_t before = outcome.text.rfind('\n', place), end = outcome.text.find('\n', place);
      const size_t begin = before == std::string::npos ? 0 : before + 1;
      outcome.text.erase(begin, end == std::string::npos ? end : end + 1 - begin);
    }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

/// Runs the program.
inline Outcome sixfold(const std::string& arguments) { return shell(SIXFOLD_BINARY " " + arguments); }

/// Types two lines into a program that answers each with a line; the second is typed only when the answer to
/// the first has been read. Returns "status N", and the answers, each on a line. `folder` is for pipes.
inline Outcome type_two_lines(const std::string& folder, const std::string& program, const std::string& first,
                              const std::string& second) {
  const std::string in = folder + "/typed", out = folder + "/answered";
  return shell("mkfifo " + in + " " + out + "; timeout -s KILL 20 " + program + " < " + in + " > " + out +
               " & exec 3> " + in + " 4< " + out + "; printf '" + first +
               "\n' >&3; read -r first <&4; printf '" + second +
               "\n' >&3; read -r second <&4; exec 3>&-; wait $!; echo \"status $?\"; echo \"$first\"; echo "
               "\"$second\"");
}

/// Ends a program that reads a pipe by a signal, first before any program has opened the pipe for writing, then
/// while an open pipe has nothing to read. Returns the statuses: "143 143" where the program notices the
/// signal.
inline std::string statuses_at_an_idle_pipe(const std::string& folder, const std::string& program,
                                            const std::string& option = "--input") {
  const std::string in = folder + "/idle";
  const std::string end =
      " & sleep 0.25; kill -TERM $!; for i in $(seq 200); do kill -0 $! 2>/dev/null || break; sleep 0.1; done; "
      "kill -KILL $! 2>/dev/null; wait $!; ";
  const std::string run = program + " " + option + " " + in + " > /dev/null 2>&1";
  return shell("mkfifo " + in + "; " + run + end + "printf \"$? \"; exec 3<> " + in + "; " + run + end +
               "printf $?; rm " + in)
      .text;
}

/// The script that activates the Python environment of other programs, for tests that use some of them. It need
/// not be there.
inline std::string peers_script() {
  const char* const home = ::getenv("HOME");
  const char* const named = ::getenv("SIXFOLD_PEERS");
  return named ? named : std::string(home ? home : "") + "/.cache/sixfold-peers/peers.sh";
}

/// An error of usage or input, with `part` in its message.
inline void expect_error(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.status, 2) << outcome.text;
  EXPECT_TRUE(outcome.text.starts_with("error: ")) << outcome.text;
  EXPECT_NE(outcome.text.find(part), std::string::npos) << outcome.text;
}

}  // namespace sixfold
