#include "train/run_folder.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "model_folder/ownership.h"
#include "train/checkpoint.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view checkpoint_note = "It has checkpoints.\n";

/// Whether a process has ended, but its parent has not read its exit status yet.
bool is_zombie(int process) {
  try {
    const std::string status = read_regular_file(fmt::format("/proc/{}/stat", process));
    const size_t name_end = status.rfind(')');  // the name of the program may hold anything
    return name_end != status.npos && status.substr(name_end).starts_with(") Z");
  } catch (const Error&) {
    return false;
  }
}

/// Whether the process that created a temporary file may still be running. This process has created none yet; a
/// file with its id is that of an earlier process.
bool may_be_alive(int process) {
  return process != ::getpid() && (::kill(process, 0) == 0 || errno != ESRCH) && !is_zombie(process);
}

/// Removes the incomplete files that a killed process left of a part of the run.
template <class IsPart, class IsFile>
void remove_unfinished(const std::string& folder, const IsPart& is_part, const IsFile& is_file) {
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
    // Files that the process was writing when it was killed have temporary names.
    remove_known_files(path.string(), [&](std::string_view name) {
      const auto temporary = parse_temporary_name(name);
      return is_file(temporary ? std::string_view(temporary->name) : name);
    });
  }
}

/// Returns the path of a run's folder, without slashes at its end. Creates the folder if it does not exist.
std::string prepared(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  require_outside_runs(path);
  require(is_run_folder(path) || is_new_or_empty(path),
          "{}: holds other files and is not the folder of a training run; give a new folder for the run", path);
  std::error_code failure;
  fs::create_directories(resolve_link(path), failure);
  if (failure) throw_environment_error("{}: can't create the folder: {}", path, failure.message());
  return path;
}

}  // namespace

RunFolder::RunFolder(const std::string& path, const std::function<bool(std::string_view)>& is_data_file)
    : path_(prepared(path)) {
  open_mark();
  const auto is_file = [&](std::string_view name) {
    return is_checkpoint_file(name) || (is_data_file && is_data_file(name));
  };
  remove_unfinished(path_, is_run_part, is_file);
  remove_unfinished(path_ + "/checkpoints", Checkpoints::is_checkpoint_name, is_file);
}

RunFolder::RunFolder(const std::string& path, OfAnotherProcess) : path_(prepared(path)) {
  if (!is_run_folder(path_)) open_mark();
}

void RunFolder::open_mark() {
  mark_.emplace(path_, run_mark, run_mark_text,
                "another process is training in this folder; wait until it ends, or give another --output");
}

bool RunFolder::had_checkpoint() const {
  return read_regular_file(mark_->path()).find(checkpoint_note) != std::string::npos;
}

void RunFolder::note_checkpoint() const {
  if (had_checkpoint()) return;
  mark_->append(checkpoint_note);
}

}  // namespace sixfold
