#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sixfold {
namespace {

// Longer than the pause between two operations of a training step: a thread that sleeps is slow to come back,
// and then often to the processor that its waker is busy on.
constexpr auto patience = std::chrono::milliseconds(1);

void pause_processor() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Waits, awake, until `done` or until patience ends. Returns whether it is done.
template <class Condition>
bool spin_until(const Condition& done) {
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// Processors that the container's quota pays for (cgroup v2 cpu.max), or 0 where there is none.
int quota_threads() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::stod(quota) / period + 0.5));
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  const int processors = sched_getaffinity(0, sizeof set, &set) == 0
                             ? CPU_COUNT(&set)
                             : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int quota = quota_threads();
  return quota > 0 ? std::min(quota, processors) : processors;
}

#if defined(__x86_64__)
SubnormalsAsZero::SubnormalsAsZero() : before_(_mm_getcsr()) {
  _mm_setcsr(before_ | 0x8040);  // operands and results
}
SubnormalsAsZero::~SubnormalsAsZero() { _mm_setcsr(before_); }
#else
SubnormalsAsZero::SubnormalsAsZero() = default;
SubnormalsAsZero::~SubnormalsAsZero() = default;
#endif

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    ++round_;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t count, const std::function<void(int64_t, int)>& task) {
  const SubnormalsAsZero mode;
  if (workers_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) task(i, 0);
    return;
  }
  task_ = &task;
  done_.store(0, std::memory_order_relaxed);
  ticket_.store(static_cast<uint64_t>(count) << 32, std::memory_order_release);
  {
    std::lock_guard lock(mutex_);
    ++round_;
  }
  wake_.notify_all();
  take_tasks(0);
  const auto done = [&] { return done_.load(std::memory_order_acquire) == count; };
  if (spin_until(done)) return;
  while (!done()) std::this_thread::yield();  // to a worker that waits for a processor
}

void ThreadPool::take_tasks(int thread) {
  for (uint64_t ticket = ticket_.load(std::memory_order_acquire);;) {
    const uint64_t count = ticket >> 32, index = ticket & 0xffffffff;
    if (index >= count) return;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    (*task_)(static_cast<int64_t>(index), thread);  // the caller can't leave before this one is done
    done_.fetch_add(1, std::memory_order_release);
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void ThreadPool::work(int thread) {
  const SubnormalsAsZero mode;
  for (uint64_t seen = 0;;) {
    const auto called = [&] { return round_.load(std::memory_order_acquire) != seen; };
    if (!spin_until(called)) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, called);
    }
    if (stop_) return;
    seen = round_.load(std::memory_order_acquire);
    take_tasks(thread);
  }
}

}  // namespace sixfold
