#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sixfold {

/// The number of threads that this process may really use: its processors, or its container's quota where that
/// is less.
int available_threads();

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
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls `task(index, thread)` for each index in [0, count), thread in [0, threads()); returns when all are
  /// done. Tasks must not throw; they take subnormal numbers for zero.
  void run(int64_t count, const std::function<void(int64_t index, int thread)>& task);

 private:
  void work(int thread);
  void take_tasks(int thread);

  std::vector<std::thread> workers_;
  const std::function<void(int64_t, int)>* task_ = nullptr;
  std::atomic<uint64_t> ticket_{0};  ///< how many tasks there are (upper half) and the next one (lower half)
  std::atomic<int64_t> done_{0};
  std::atomic<uint64_t> round_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace sixfold
