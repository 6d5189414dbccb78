#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace sixfold {

void rethrow_as_error() {
  try {
    throw;
  } catch (const std::filesystem::filesystem_error& error) {
    throw_environment_error("{}: {}", error.path1().string(), error.code().message());
  }
}

namespace fs = std::filesystem;

namespace {

/// Closes a file descriptor when the scope ends.
struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

[[noreturn]] void throw_write_error(const std::string& path, int error) {
  throw_environment_error("{}: can't write: {}", path, std::strerror(error));
}

void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) throw_write_error(path, errno);
    if (count > 0) bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

int open_for_reading(const std::string& path, int flags = 0) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) throw_input_error("{}: can't open: {}", path, std::strerror(errno));
  return descriptor;
}

/// A regular file that is open for reading, and its size. Opening anything else does not block.
struct RegularFile {
  Descriptor descriptor;
  size_t size = 0;

  explicit RegularFile(const std::string& path) : descriptor{open_for_reading(path, O_NONBLOCK)} {
    struct stat status {};
    if (::fstat(descriptor.number, &status) != 0)
      throw_environment_error("{}: can't read: {}", path, std::strerror(errno));
    require(!S_ISDIR(status.st_mode), "{}: is a folder, not a file", path);
    require(S_ISREG(status.st_mode), "{}: is not a regular file", path);
    size = static_cast<size_t>(status.st_size);
  }
};

std::string read_all(const Descriptor& file, const std::string& path) {
  std::string bytes;
  char block[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.number, block, sizeof block);
    if (count > 0) bytes.append(block, static_cast<size_t>(count));
    if (count == 0) return bytes;
    if (count < 0 && errno == EISDIR) throw_input_error("{}: is a folder, not a file", path);
    if (count < 0 && errno != EINTR) throw_environment_error("{}: can't read: {}", path, std::strerror(errno));
  }
}

void flush_to_disk(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number >= 0 && ::fsync(file.number) == 0) return;
  const int error = errno;
  // Some file systems can't flush folders, and say so with these errors.
  if (file.number >= 0 && (error == EINVAL || error == ENOTSUP) && fs::is_directory(path)) return;
  throw_write_error(path, error);
}

/// The length of a file up to the end of its last complete line.
int64_t end_of_last_line(const std::string& path) {
  return static_cast<int64_t>(read_file(path).rfind('\n') + 1);
}

bool is_known(const fs::directory_entry& entry, const KnownFile& known) {
  std::error_code ignored;
  return known && !entry.is_symlink(ignored) && entry.is_regular_file(ignored) &&
         known(entry.path().filename().string());
}

std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

/// A name beside `path` that no other process or thread uses. A file that an ended process left behind may have
/// it; the caller then asks for another name.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter = 0;
  return fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter++);
}

}  // namespace

std::string resolve_link(const std::string& path) {
  constexpr int max_links = 40;
  fs::path real = path;
  std::error_code ignored;  // a link that can't be read is not followed
  for (int i = 0; i < max_links; ++i) {
    while (!real.has_filename() && real.has_relative_path()) real = real.parent_path();  // a slash at the end
    if (!fs::is_symlink(real, ignored)) break;
    real = real.parent_path() / fs::read_symlink(real, ignored);
  }
  return real.string();
}

std::string read_file(const std::string& path) {
  const Descriptor file{open_for_reading(path)};
  return read_all(file, path);
}

std::string read_regular_file(const std::string& path) {
  const RegularFile file(path);
  return read_all(file.descriptor, path);
}

MappedFile::MappedFile(const std::string& path) {
  const RegularFile file(path);
  size_ = file.size;
  if (size_ == 0) return;
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor.number, 0);
  if (address == MAP_FAILED)
    throw_environment_error("{}: can't map into memory: {}", path, std::strerror(errno));
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release_pages() const {
  if (data_) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

namespace {

/// The path of an existing temporary file, for a signal handler, which must not wait for a lock.
struct TemporaryFileSlot {
  std::atomic<bool> used = false;
  char path[PATH_MAX] = {};
};
std::array<TemporaryFileSlot, 32> temporary_files;
std::mutex temporary_files_mutex;  // held by threads that change the slots

/// Puts a path into a free slot. If all slots are used or the path is too long, the file remains when a signal
/// ends the process.
void remember(const std::string& path) {
  const std::lock_guard lock(temporary_files_mutex);
  for (TemporaryFileSlot& slot : temporary_files) {
    if (path.size() >= sizeof slot.path || slot.used) continue;
    std::memcpy(slot.path, path.c_str(), path.size() + 1);
    slot.used = true;
    return;
  }
}

void forget(const std::string& path) {
  const std::lock_guard lock(temporary_files_mutex);
  for (TemporaryFileSlot& slot : temporary_files)
    if (slot.used && path == slot.path) slot.used = false;
}

extern "C" void remove_temporary_files(int signal) {
  for (const TemporaryFileSlot& slot : temporary_files)
    if (slot.used) ::unlink(slot.path);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void remove_temporary_files_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;  // as under nohup
    std::signal(signal, remove_temporary_files);
  }
}

AtomicFile::AtomicFile(const std::string& path) : path_(resolve_link(path)) {
  struct stat status {};
  require(!path.ends_with('/'), "{}: is the name of a folder; give the name of a file", path);
  // A rename over a pipe or /dev/null would replace it by a regular file. A device such as the latter is
  // written to.
  const bool is_there = ::stat(path.c_str(), &status) == 0;  // the links of /proc to pipes lead to no path
  if (is_there) {
    require(!S_ISDIR(status.st_mode), "{}: is a folder; give the name of a file", path);
    if (S_ISCHR(status.st_mode)) {
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      if (descriptor_ < 0) throw_write_error(path_, errno);
      return;
    }
    require(S_ISREG(status.st_mode),
            "{}: is not a regular file; write to standard output and redirect it to this file", path);
  }
  do {
    temporary_ = temporary_name(path_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) throw_write_error(path_, errno);
  remember(temporary_);
  // Keep the permissions of an older file. Some file systems have none.
  if (is_there) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget(temporary_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr size_t buffer_limit = 1 << 16;
  if (buffer_.size() + bytes.size() > buffer_limit) flush();
  if (bytes.size() > buffer_limit)
    write_through(bytes);
  else
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void AtomicFile::flush() {
  write_through(std::as_bytes(std::span(buffer_)));
  buffer_.clear();
}

void AtomicFile::write_through(std::span<const std::byte> bytes) { write_all(descriptor_, bytes, path_); }

void AtomicFile::overwrite(int64_t offset, std::string_view bytes) {
  flush();
  if (::lseek(descriptor_, offset, SEEK_SET) < 0) throw_write_error(path_, errno);
  write_through(std::as_bytes(std::span(bytes)));
  if (::lseek(descriptor_, 0, SEEK_END) < 0) throw_write_error(path_, errno);
}

void AtomicFile::close() {
  flush();
  if (!temporary_.empty() && ::fsync(descriptor_) != 0) throw_write_error(path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_write_error(path_, errno);
}

void AtomicFile::commit() {
  close();
  if (temporary_.empty()) return;  // a device
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_write_error(path_, errno);
  forget(std::exchange(temporary_, {}));
  flush_to_disk(parent_of(path_));
}

bool AtomicFile::commit_new() {
  close();
  if (temporary_.empty()) return false;
  if (::link(temporary_.c_str(), path_.c_str()) == 0) {
    ::unlink(temporary_.c_str());
  } else {
    if (errno == EEXIST) return false;
    // Not every file system has hard links.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
      if (errno == EEXIST) return false;
      throw_write_error(path_, errno);
    }
  }
  forget(std::exchange(temporary_, {}));
  flush_to_disk(parent_of(path_));
  return true;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

AppendingFile::AppendingFile(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw_write_error(path, errno);
}

AppendingFile::AppendingFile(const std::string& path, int64_t bytes) : AppendingFile(path) {
  const int64_t found = this->bytes();
  if (found < bytes) {
    log_warning(
        "{}: is shorter than recorded ({} bytes of {}); new lines are appended after its last complete line",
        path, found, bytes);
    bytes = end_of_last_line(path);
  }
  if (::ftruncate(descriptor_, bytes) != 0) throw_write_error(path, errno);
}

AppendingFile::~AppendingFile() { ::close(descriptor_); }

void AppendingFile::flush_to_disk() {
  if (::fsync(descriptor_) != 0) throw_write_error(path_, errno);
}

void AppendingFile::append(std::string_view text) {
  const std::string whole = (torn_ ? "\n" : "") + std::string(text);
  torn_ = true;
  write_all(descriptor_, std::as_bytes(std::span(whole)), path_);
  torn_ = false;
}

int64_t AppendingFile::bytes() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw_write_error(path_, errno);
  return status.st_size;
}

AtomicDirectory::AtomicDirectory(const std::string& target, KnownFile known)
    : target_(resolve_link(target)), known_(std::move(known)) {
  while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
  struct stat status {};
  if (::stat(target_.c_str(), &status) == 0) {
    require(S_ISDIR(status.st_mode), "{}: is not a folder", target);
    std::error_code failure;
    const bool empty = fs::is_empty(target_, failure);
    require(!failure, "{}: can't be read: {}", target, failure.message());
    require(known_ || empty, "{}: already exists and is not empty; give the name of a new folder", target);
    if (empty) known_ = {};
  } else {
    known_ = {};  // files that appear there meanwhile belong to others
  }
  int result;
  do {
    temporary_ = temporary_name(target_);
    result = ::mkdir(temporary_.c_str(), 0777);
  } while (result != 0 && errno == EEXIST);
  if (result != 0) throw_write_error(target_, errno);
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;  // a destructor can't throw, and temporary names are recognized later
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void AtomicDirectory::commit() {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(temporary_, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_regular_file() || entry->is_directory()) flush_to_disk(entry->path().string());
  if (error) throw_write_error(target_, error.value());
  flush_to_disk(temporary_);
  // A rename succeeds if the target does not exist or is an empty folder.
  if (::rename(temporary_.c_str(), target_.c_str()) == 0)
    temporary_.clear();
  else if (errno != ENOTEMPTY && errno != EEXIST)
    throw_write_error(target_, errno);
  else if (known_)
    replace_target();
  else
    throw_environment_error(
        "{}: was created by another process in the meantime and was not changed; choose another name", target_);
  flush_to_disk(parent_of(target_));
}

void AtomicDirectory::replace_target() {
  std::string old = temporary_;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    // Not every file system can exchange two names.
    old = temporary_name(target_);
    if (::rename(target_.c_str(), old.c_str()) != 0) throw_write_error(target_, errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
      const int error = errno;
      ::rename(old.c_str(), target_.c_str());
      throw_write_error(target_, error);
    }
  }
  temporary_.clear();
  flush_to_disk(parent_of(target_));  // the old folder is removed only when the new one is on disk
  discard_old(old);
}

void AtomicDirectory::discard_old(const std::string& old) {
  std::vector<fs::path> kept;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(old, ignored))
    if (!is_known(entry, known_)) kept.push_back(entry.path());
  for (const fs::path& path : kept) {
    const fs::path place = fs::path(target_) / path.filename();
    if (!fs::exists(fs::symlink_status(place, ignored))) fs::rename(path, place, ignored);
  }
  remove_known_files(old, known_);
}

void remove_known_files(const std::string& folder, const KnownFile& known) {
  std::vector<fs::path> ours;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (is_known(entry, known)) ours.push_back(entry.path());
  for (const fs::path& path : ours) fs::remove(path, ignored);
  fs::remove(folder, ignored);  // fails if files are left in it
}

std::optional<TemporaryName> parse_temporary_name(std::string_view file_name) {
  constexpr std::string_view mark = ".tmp-";
  const size_t at = file_name.rfind(mark);
  if (at == file_name.npos || at == 0) return std::nullopt;
  const std::string_view numbers = file_name.substr(at + mark.size());
  const char* end = numbers.data() + numbers.size();
  int process = 0;
  unsigned count = 0;
  const auto first = std::from_chars(numbers.data(), end, process);
  if (first.ec != std::errc() || process <= 0 || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, count);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return TemporaryName{std::string(file_name.substr(0, at)), process};
}

std::string temporary_folder() {
  std::error_code missing;
  const fs::path folder = fs::temp_directory_path(missing);
  if (!missing) return folder.string();
  const char* named = std::getenv("TMPDIR");
  throw_environment_error("{}: is not a folder; set TMPDIR to one for temporary files", named ? named : "/tmp");
}

}  // namespace sixfold
