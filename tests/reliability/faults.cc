// Loaded before the C library (LD_PRELOAD): makes the calls that write fail, as a full disk or a read-only
// folder would.
//   SIXFOLD_FAULT_PATH   only files whose path holds this
//   SIXFOLD_FAULT_AT     the number, from 1, of the first call that fails
//   SIXFOLD_FAULT_ERRNO  with which error
//   SIXFOLD_FAULT_SIGNAL the number of a signal that comes with that call, which then does not fail
//   SIXFOLD_FAULT_ONCE   set: only that one fails; else all that follow do too
//   SIXFOLD_FAULT_COUNT  a file that is told, in the end, how many calls there were
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace {

std::atomic<long> calls{0};

long number(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text ? atol(text) : otherwise;
}

bool concerns(const char* path) {
  static const char* const part = getenv("SIXFOLD_FAULT_PATH");
  return part && path && strstr(path, part);
}

/// Whether this call fails; sets errno.
bool fails(const char* path) {
  if (!concerns(path)) return false;
  static const long at = number("SIXFOLD_FAULT_AT", -1), error = number("SIXFOLD_FAULT_ERRNO", ENOSPC);
  static const bool once = getenv("SIXFOLD_FAULT_ONCE");
  const long call = ++calls;
  static const long signal = number("SIXFOLD_FAULT_SIGNAL", 0);
  if (signal > 0 && call == at) raise(static_cast<int>(signal));
  if (signal > 0 || at < 0 || call < at || (once && call > at)) return false;
  errno = static_cast<int>(error);
  return true;
}

bool fails(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = 0;
  return fails(path);
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct Teller {
  ~Teller() {
    if (const char* path = getenv("SIXFOLD_FAULT_COUNT"))
      if (FILE* file = fopen(path, "w")) fprintf(file, "%ld", calls.load()), fclose(file);
  }
} teller;

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static const auto next = real<ssize_t(int, const void*, size_t)>("write");
  return fails(descriptor) ? -1 : next(descriptor, bytes, count);
}

int fsync(int descriptor) {
  static const auto next = real<int(int)>("fsync");
  return fails(descriptor) ? -1 : next(descriptor);
}

int ftruncate(int descriptor, off_t length) noexcept {
  static const auto next = real<int(int, off_t)>("ftruncate");
  return fails(descriptor) ? -1 : next(descriptor, length);
}

int rename(const char* from, const char* to) noexcept {
  static const auto next = real<int(const char*, const char*)>("rename");
  return fails(to) ? -1 : next(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static const auto next = real<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return fails(to) ? -1 : next(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto next = real<int(const char*, mode_t)>("mkdir");
  return fails(path) ? -1 : next(path, mode);
}

int open(const char* path, int flags, ...) {
  static const auto next = real<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return flags & O_CREAT && fails(path) ? -1 : next(path, flags, mode);
}
}
