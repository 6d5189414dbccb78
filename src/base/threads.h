#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace sixfold {

/// The number of threads that this process may really use: its processors, or what its container's quota pays
/// for where that is less (`processors_paid_by_cgroups`). `root` is the folder that holds /proc and /sys.
int available_threads(const std::string& root = "/");

/// Starts a thread. Where the system refuses it, says so and returns one that is not joinable: the caller then
/// does the work itself.
std::thread start_thread(std::function<void()> body);

/// While it lives, its thread takes subnormal numbers for zero: they cost a hundred times more and matter to
/// nothing here. Every thread must do alike, or results would depend on who computed them.
class SubnormalsAsZero {
 public:
  SubnormalsAsZero();
  ~SubnormalsAsZero();
  SubnormalsAsZero(const SubnormalsAsZero&) = delete;
  SubnormalsAsZero& operator=(const SubnormalsAsZero&) = delete;

 private:
  unsigned before_ = 0;
};

/// Threads that share the work of one caller at a time. Tasks are numbered pieces of work whose results do not
/// depend on who does them; the caller takes its share, and waits for no worker that took none. Between calls
/// workers spin for a millisecond and then sleep.
class ThreadPool {
 public:
  /// `threads` counts the caller's. Where the system refuses so many (a limit on memory or on processes), there
  /// are fewer, and a warning says so, once in a process.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls `task(index, thread)` for each index in [0, count), thread in [0, threads()); returns when all are
  /// done. Tasks take subnormal numbers for zero. When a task throws, those after it no longer begin, and once
  /// all that run have ended, the caller gets the exception of the lowest index, however many threads there
  /// are.
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
  std::atomic<uint64_t> ticket_{0};  ///< how many tasks there are (upper half) and the next one (lower half)
  std::atomic<int64_t> done_{0};
  std::atomic<uint64_t> round_{0};
  std::atomic<bool> stop_{false};
  static constexpr uint64_t none = UINT64_MAX;
  std::atomic<uint64_t> failed_{none};  ///< the lowest index whose task threw
  std::exception_ptr failure_;          ///< what it threw
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace sixfold
