#include "base/folder_mark.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace sixfold {

FolderMark::FolderMark(const std::string& folder, std::string_view name, std::string_view text,
                       std::string_view busy)
    : path_(folder + "/" + std::string(name)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) throw_environment_error("{}: can't write: {}", path_, std::strerror(errno));
  try {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) throw_input_error("{}: {}", folder, busy);
    if (::lseek(file_, 0, SEEK_END) == 0) append(text);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

FolderMark::~FolderMark() { ::close(file_); }

void FolderMark::append(std::string_view text) const {
  if (::write(file_, text.data(), text.size()) < 0)
    throw_environment_error("{}: can't write: {}", path_, std::strerror(errno));
}

}  // namespace sixfold
