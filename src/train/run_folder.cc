#include "train/run_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "data/token_store.h"
#include "model/ownership.h"
#include "train/checkpoint.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view checkpoint_note = "It has checkpoints.\n";

/// Whether the process that made a temporary file can still be at work on it. We ourselves have just begun.
bool may_be_alive(int process) { return process != ::getpid() && (::kill(process, 0) == 0 || errno != ESRCH); }

bool is_store_file(std::string_view name) { return is_token_store_file(name) || is_model_file(name); }

/// Removes what a killed process left of a part of the run, and nothing else.
template <class IsPart>
void remove_unfinished(const std::string& folder, const IsPart& is_part) {
  std::error_code ignored;
  std::vector<fs::path> unfinished;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto temporary = parse_temporary_name(entry.path().filename().string());
    if (temporary && is_part(temporary->name) && !may_be_alive(temporary->process))
      unfinished.push_back(entry.path());
  }
  for (const fs::path& path : unfinished) {
    if (!fs::is_directory(fs::symlink_status(path, ignored))) {
      fs::remove(path, ignored);
      continue;
    }
    // Files that were being written when it was killed have temporary names in it.
    remove_known_files(path.string(), [](std::string_view name) {
      const auto temporary = parse_temporary_name(name);
      const std::string_view whole = temporary ? std::string_view(temporary->name) : name;
      return is_checkpoint_file(whole) || is_store_file(whole);
    });
  }
}

int open_mark(const std::string& path) {
  const std::string mark = path + "/" + std::string(run_mark);
  const int file = ::open(mark.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) throw_environment_error("{}: can't write: {}", mark, std::strerror(errno));
  return file;
}

void append_to_mark(int file, const std::string& path, std::string_view text) {
  if (::write(file, text.data(), text.size()) < 0)
    throw_environment_error("{}/{}: can't write: {}", path, run_mark, std::strerror(errno));
}

}  // namespace

RunFolder::RunFolder(const std::string& path) : path_(path) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  require_outside_runs(path_);
  require(is_run_folder(path_) || is_new_or_empty(path_),
          "{}: holds other things and is not the folder of a training run; name a new folder for the run",
          path_);
  std::error_code failure;
  fs::create_directories(path_, failure);
  if (failure) throw_environment_error("{}: can't make the folder: {}", path_, failure.message());
  mark_.file = open_mark(path_);
  if (::flock(mark_.file, LOCK_EX | LOCK_NB) != 0)
    throw_input_error("{}: another process trains in this folder; wait for its end, or give another --output",
                      path_);
  if (::lseek(mark_.file, 0, SEEK_END) == 0) append_to_mark(mark_.file, path_, run_mark_text);
  remove_unfinished(path_, is_run_part);
  remove_unfinished(path_ + "/checkpoints", Checkpoints::is_checkpoint_name);
}

RunFolder::Mark::~Mark() {
  if (file >= 0) ::close(file);
}

bool RunFolder::had_checkpoint() const {
  return read_file(path_ + "/" + std::string(run_mark)).find(checkpoint_note) != std::string::npos;
}

void RunFolder::note_checkpoint() const {
  if (had_checkpoint()) return;
  append_to_mark(mark_.file, path_, checkpoint_note);
}

}  // namespace sixfold
