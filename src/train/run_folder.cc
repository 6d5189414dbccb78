#include "train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// Names as base/file.cc gives them to what is not whole yet.
void remove_unfinished(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().find(".tmp-") != std::string::npos)
      fs::remove_all(entry.path(), ignored);
}

}  // namespace

RunFolder::RunFolder(const std::string& path) : path_(path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) throw_world_error("{}: can't make the folder: {}", path, failure.message());
  const std::string lock = path + "/lock";
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw_world_error("{}: can't write: {}", lock, std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw_input_error("{}: another process trains in this folder; wait for its end, or give another --out",
                      path);
  }
  remove_unfinished(path);
  remove_unfinished(path + "/checkpoints");
}

RunFolder::~RunFolder() { ::close(lock_); }

}  // namespace sixfold
