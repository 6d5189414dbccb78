#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/cgroup.h"
#include "base/log.h"

namespace sixfold {
namespace {

// It is longer than the pause between two operations of a training step: a sleeping thread is slow to wake up,
// and is then often scheduled on the processor of the thread that woke it.
constexpr auto max_spin_time = std::chrono::milliseconds(1);

void pause_processor() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Spins until `done` returns true or the time limit is reached. Returns whether `done` returned true.
template <class Condition>
bool spin_until(const Condition& done) {
  const auto end = std::chrono::steady_clock::now() + max_spin_time;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// Warns, once in a process, that the system starts no more threads.
void warn_of_refusal(int requested, int used, std::error_code reason) {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  log_warning(
      "the system refuses to start {} threads ({}), so {} used; ask for fewer, or raise the limit (ulimit -u, "
      "ulimit -v, the container's number of processes)",
      requested, reason.message(), used == 1 ? "one is" : fmt::format("{} are", used));
}

}  // namespace

int available_threads(const std::string& root) {
  cpu_set_t set;
  const int processors = sched_getaffinity(0, sizeof set, &set) == 0
                             ? CPU_COUNT(&set)
                             : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const double allowed = processors_allowed_by_cgroups(root).value_or(processors);
  return allowed < processors ? std::max(1, static_cast<int>(std::lround(allowed))) : processors;
}

int usable_threads(int requested, std::string_view option, int available) {
  if (requested > available)
    log_warning("{} is {}, but {} available; {} used", option, requested,
                available == 1 ? "one processor is" : fmt::format("{} processors are", available),
                available == 1 ? "one thread is" : fmt::format("{} threads are", available));
  return requested > 0 ? std::min(requested, available) : available;
}

std::string allowed_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "";
  std::string names;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &set)) continue;
    const int begin = i;
    while (i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, &set)) ++i;
    names += (names.empty() ? "" : ",") + std::to_string(begin) + (i > begin ? "-" + std::to_string(i) : "");
  }
  return names;
}

#if defined(__x86_64__)
SubnormalsAsZero::SubnormalsAsZero() : before_(_mm_getcsr()) {
  _mm_setcsr(before_ | 0x8040);  // denormals-are-zero (operands) and flush-to-zero (results)
}
SubnormalsAsZero::~SubnormalsAsZero() { _mm_setcsr(before_); }
#else
SubnormalsAsZero::SubnormalsAsZero() = default;
SubnormalsAsZero::~SubnormalsAsZero() = default;
#endif

std::thread start_thread(std::function<void()> body, int requested, int used) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& refusal) {
    warn_of_refusal(requested, used, refusal.code());
  } catch (const std::bad_alloc&) {
    warn_of_refusal(requested, used, std::make_error_code(std::errc::not_enough_memory));
  }
  return {};
}

ThreadPool::ThreadPool(int threads) {
  for (std::error_code refusal; (refusal = start(threads));) {
    // Other parts of the program need the exhausted resource too, so half of the threads are given up.
    const int fewer = (this->threads() + 1) / 2;
    stop();
    warn_of_refusal(threads, fewer, refusal);
    threads = fewer;
  }
}

ThreadPool::~ThreadPool() { stop(); }

/// Starts workers until there are `threads` threads, including the caller. Returns the error if there are
/// fewer.
std::error_code ThreadPool::start(int threads) {
  stop_ = false;
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& refusal) {
    return refusal.code();
  } catch (const std::bad_alloc&) {
    return std::make_error_code(std::errc::not_enough_memory);
  }
  return {};
}

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    ++round_;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
  workers_.clear();
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
  if (!spin_until(done))
    while (!done()) std::this_thread::yield();  // lets a worker run that waits for a processor
  if (failed_.load(std::memory_order_relaxed) != none) rethrow_failure();
}

void ThreadPool::take_tasks(int thread) {
  for (uint64_t ticket = ticket_.load(std::memory_order_acquire);;) {
    const uint64_t count = ticket >> 32, index = ticket & 0xffffffff;
    if (index >= count) return;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    try {  // the caller waits until this task is counted as done
      if (index < failed_.load(std::memory_order_relaxed)) (*task_)(static_cast<int64_t>(index), thread);
    } catch (...) {
      keep_failure(index);
    }
    done_.fetch_add(1, std::memory_order_release);
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

/// Keeps the current exception, unless a task with a lower index failed too.
void ThreadPool::keep_failure(uint64_t index) {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed) < index) return;
  failed_.store(index, std::memory_order_relaxed);
  failure_ = std::current_exception();
}

void ThreadPool::rethrow_failure() {
  failed_.store(none, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::work(int thread) {
  const SubnormalsAsZero mode;
  for (uint64_t seen = 0;;) {
    const auto new_round = [&] { return round_.load(std::memory_order_acquire) != seen; };
    if (!spin_until(new_round)) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, new_round);
    }
    if (stop_) return;
    seen = round_.load(std::memory_order_acquire);
    take_tasks(thread);
  }
}

}  // namespace sixfold
