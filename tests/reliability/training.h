#pragma once
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "parallel_text.h"

namespace sixfold {

/// The program at work, or another one, as another process.
class Process {
 public:
  /// `environment`: "NAME=value" besides our own. What it prints goes to `log`.
  Process(const std::vector<std::string>& arguments, const std::string& log,
          const std::vector<std::string>& environment = {}, const char* program = SIXFOLD_BINARY) {
    std::vector<char*> argv{const_cast<char*>(program)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out, 1), ::dup2(out, 2);
      for (const std::string& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(out);
  }
  ~Process() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), wait();
  }

  pid_t pid() const { return pid_; }
  /// Nothing where it has ended: its number, or that of all processes, is not ours to signal.
  void send(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
  }
  /// Whether it has ended within that time.
  bool ended(std::chrono::milliseconds patience = std::chrono::milliseconds(0)) {
    const auto until = std::chrono::steady_clock::now() + patience;
    do {
      if (pid_ <= 0) return true;
      rusage usage{};
      if (::wait4(pid_, &status_, WNOHANG, &usage) == pid_) {
        pid_ = -1;
        peak_bytes_ = int64_t{usage.ru_maxrss} * 1024;
        return true;
      }
      if (patience.count() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (std::chrono::steady_clock::now() < until);
    return false;
  }
  /// Its exit status, or 128 and the signal that ended it.
  int wait() {
    while (!ended(std::chrono::milliseconds(60'000))) continue;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  int64_t peak_bytes_ = 0;
};

/// A small configuration in `folder`, with its text; a run takes a second or two, and its bits don't depend on
/// which products a processor is quick at.
inline std::string write_small_training(const std::string& folder) {
  write_parallel_text(folder + "/train.a", folder + "/train.b", 600, 1);
  write_parallel_text(folder + "/valid.a", folder + "/valid.b", 40, 2);
  const std::string config = folder + "/config.yaml";
  write_file_atomically(config, fmt::format(R"(
model: {{d_model: 32, d_ff: 64, heads: 2, encoder_layers: 2, decoder_layers: 2}}
tokenizer: {{kind: whitespace, vocab_size: 0}}
data: {{train: [{0}/train.a, {0}/train.b], valid: [{0}/valid.a, {0}/valid.b], batch_tokens: 1500}}
train: {{updates: 120, threads: 1, precision: fp32, ema_decay: 0.9}}
schedule: {{kind: linear, learning_rate: 3e-3, warmup: 10}}
checkpoint: {{every_updates: 3, keep_last: 2}}
validation: {{every_updates: 10, metrics: [loss, bleu]}}
log: {{every_updates: 4}}
)",
                                            folder));
  return config;
}

/// All that a finished run has made, but for what clocks say: one text to compare.
inline std::string contents_of_run(const std::string& run) {
  namespace fs = std::filesystem;
  const auto without_times = [](nlohmann::json json) {
    for (const char* key :
         {"seconds", "seconds_left", "tokens_per_second", "seconds_waited", "memory_mb", "waited", "log_bytes"})
      json.erase(key);
    return json;
  };
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(run))
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), run));
  std::sort(files.begin(), files.end());
  std::string text;
  for (const std::string& name : files) {
    text += "== " + name + "\n";
    const std::string bytes = read_file(run + "/" + name);
    if (name.ends_with("train.jsonl")) {
      std::istringstream lines(bytes);
      for (std::string line; std::getline(lines, line);)
        text += without_times(nlohmann::json::parse(line)).dump() + "\n";
    } else if (name.ends_with("state.json")) {
      text += without_times(nlohmann::json::parse(bytes)).dump() + "\n";
    } else if (!name.ends_with("config.json") && !name.ends_with("provenance.json")) {  // these name settings
      text += bytes;
    }
  }
  return text;
}

/// The first line in which two such texts differ, for a message.
inline std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream x(a), y(b);
  std::string heading;
  for (std::string p, q; std::getline(x, p) && std::getline(y, q);) {
    if (p.starts_with("== ")) heading = p;
    if (p != q) return heading + ": " + p.substr(0, 300) + "\n  and " + q.substr(0, 300);
  }
  return a.size() == b.size() ? "" : heading + ": one ends there";
}

}  // namespace sixfold
