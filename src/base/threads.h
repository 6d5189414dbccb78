#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace sixfold {

/// The number of threads that this process can run at once: the number of its processors, or the CPU quota of
/// its container if that is less (`processors_allowed_by_cgroups`). `root` is the folder that contains /proc
/// and /sys.
int available_threads(const std::string& root = "/");

/// The number of threads to use if the value of `option` is `requested`; 0 requests all that are available. If
/// fewer are available, returns that number and prints a warning, since more threads would only wait for one
/// another.
int usable_threads(int requested, std::string_view option, int available = available_threads());

/// Names the processors that this process may run on: "0-3,8".
std::string allowed_processors();

/// Starts a thread. If the system refuses, prints a warning and returns a thread that is not joinable; the
/// caller must then do the work itself.
/// `requested` and `used` appear in the warning: the number of threads that were requested, and the number that
/// the work will have.
std::thread start_thread(std::function<void()> body, int requested = 2, int used = 1);

/// During the lifetime of this object its thread treats subnormal numbers as zero. They would be a hundred
/// times slower, and results do not need them. All threads must do the same, or results would depend on the
/// thread.
class SubnormalsAsZero {
 public:
  SubnormalsAsZero();
  ~SubnormalsAsZero();
  SubnormalsAsZero(const SubnormalsAsZero&) = delete;
  SubnormalsAsZero& operator=(const SubnormalsAsZero&) = delete;

 private:
  unsigned before_ = 0;
};

/// Threads that share the work of one caller at a time; `run` must not be called by two threads at once. Work
/// is divided into numbered tasks, whose results must not depend on the thread that runs them. The caller runs
/// tasks too and does not wait for workers that took none. Between calls, workers spin for a millisecond and
/// then sleep.
class ThreadPool {
 public:
  /// `threads` includes the caller. If the system refuses to start so many (a limit on memory or processes),
  /// there are fewer, and a warning is printed once in a process.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls `task(index, thread)` for each index in [0, count), with thread in [0, threads()), and returns when
  /// all calls have returned. Tasks treat subnormal numbers as zero. If a task throws, later tasks are not
  /// started. When all running tasks have ended, `run` throws the exception of the task with the lowest index,
  /// whatever the number of threads.
  void run(int64_t count, const std::function<void(int64_t index, int thread)>& task);

 private:
  std::error_code start(int threads);
  void stop();
  void work(int thread);
  void take_tasks(int thread);
  void keep_failure(uint64_t index);
  [[noreturn]] void rethrow_failure();

  std::vector<std::thread> workers_;
  const std::function<void(int64_t, int)>* task_ = nullptr;
  std::atomic<uint64_t> ticket_{0};  ///< number of tasks (upper half) and next task (lower half)
  std::atomic<int64_t> done_{0};
  std::atomic<uint64_t> round_{0};
  std::atomic<bool> stop_{false};
  static constexpr uint64_t none = UINT64_MAX;
  std::atomic<uint64_t> failed_{none};  ///< the lowest index whose task threw
  std::exception_ptr failure_;          ///< the exception of that task
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace sixfold
