// Loaded before the C library (LD_PRELOAD): makes one allocation fail, as where memory is short. Counts from
// the beginning of main() on.
//   SIXFOLD_FAULT_AT     the number, from 1, of the allocation that fails
//   SIXFOLD_FAULT_COUNT  a file that is told, in the end, how many allocations there were
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<long> calls{0};
long at = -1;
int (*program)(int, char**, char**);

bool fails() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  if (++calls != at) return false;
  errno = ENOMEM;
  return true;
}

int counted_main(int argc, char** argv, char** environment) {
  if (const char* text = getenv("SIXFOLD_FAULT_AT")) at = atol(text);
  counting = true;
  const int status = program(argc, argv, environment);
  counting = false;
  if (const char* path = getenv("SIXFOLD_FAULT_COUNT"))
    if (FILE* file = fopen(path, "w")) fprintf(file, "%ld", calls.load()), fclose(file);
  return status;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) { return fails() ? nullptr : __libc_malloc(bytes); }

void* aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** pointer, size_t alignment, size_t bytes) {
  void* allocated = fails() ? nullptr : __libc_memalign(alignment, bytes);
  if (!allocated) return ENOMEM;
  *pointer = allocated;
  return 0;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, int (*init)(int, char**, char**),
                      void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  using Start = int(int (*)(int, char**, char**), int, char**, int (*)(int, char**, char**), void (*)(),
                    void (*)(), void*);
  program = main;
  const auto next = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

}  // extern "C"
