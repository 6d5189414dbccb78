#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

namespace sixfold {
namespace {

TEST(UsableThreads, AreNoMoreThanThereAreProcessors) {
  EXPECT_EQ(usable_threads(0, "threads", 3), 3);
  EXPECT_EQ(usable_threads(2, "threads", 3), 2);
  testing::internal::CaptureStderr();
  EXPECT_EQ(usable_threads(4, "threads", 3), 3);
  EXPECT_EQ(usable_threads(999, "--threads", 1), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: threads is 4, but 3 processors are available; 3 threads are used\n"
            "warning: --threads is 999, but one processor is available; one thread is used\n");
}

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
      std::atomic<bool> in_range = true;
      pool.run(count, [&](int64_t index, int thread) {
        ++runs[static_cast<size_t>(index)];
        if (thread < 0 || thread >= threads) in_range = false;
      });
      for (const auto& run : runs) EXPECT_EQ(run, 1) << threads << " threads, " << count << " indices";
      EXPECT_TRUE(in_range);
    }
  }
}

TEST(ThreadPool, SeesWhatTheTasksWroteAfterManyRounds) {
  ThreadPool pool(3);
  std::vector<int64_t> cells(17);  // not atomic: `run` alone orders the writes
  for (int round = 0; round < 20000; ++round)
    pool.run(1 + round % 17, [&](int64_t index, int) { cells[static_cast<size_t>(index)] += round; });
  int64_t expected = 0;
  for (int round = 0; round < 20000; ++round) expected += int64_t{round} * (1 + round % 17);
  int64_t sum = 0;
  for (const int64_t cell : cells) sum += cell;
  EXPECT_EQ(sum, expected);
}

TEST(ThreadPool, NoTwoTasksShareAThreadNumberAtOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> shared = false;
  for (int round = 0; round < 200; ++round)
    pool.run(40, [&](int64_t, int thread) {
      auto& mine = inside[static_cast<size_t>(thread)];
      if (++mine != 1) shared = true;
      --mine;
    });
  EXPECT_FALSE(shared);
}

TEST(ThreadPool, SleepsBetweenCallsAndWakesAgain) {
  ThreadPool pool(2);
  std::atomic<int> runs = 0;
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 2 ? 0 : 3));  // longer than it spins
    pool.run(8, [&](int64_t, int) { ++runs; });
  }
  EXPECT_EQ(runs, 160);
}

TEST(ThreadPool, ComesAndGoesWithoutWork) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(3);
    if (i % 2) pool.run(2, [](int64_t, int) {});
  }
}

TEST(ThreadPool, TasksTakeSubnormalNumbersForZeroInEveryThread) {
#if defined(__x86_64__)
  volatile double smallest = std::numeric_limits<double>::min();
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const int64_t count : {1, 64}) {
      std::atomic<int> subnormal = 0;
      pool.run(count, [&](int64_t, int) { subnormal += smallest / 2 != 0; });
      EXPECT_EQ(subnormal, 0) << threads << " threads, " << count << " tasks";
      EXPECT_NE(smallest / 2, 0) << "the caller's arithmetic has changed";
    }
  }
#endif
}

TEST(ThreadPool, TheFirstTaskThatThrowsIsHeardOfOnceAllHaveEnded) {
  for (const int threads : {1, 2, 4})
    for (const int64_t bad : {0, 1, 37, 99}) {
      ThreadPool pool(threads);
      std::vector<std::atomic<int>> runs(100);
      std::atomic<int> inside = 0;
      const auto task = [&](int64_t index, int) {
        ++inside;
        ++runs[static_cast<size_t>(index)];
        std::this_thread::sleep_for(std::chrono::microseconds(index % 7 * 20));
        --inside;
        if (index >= bad) throw index;  // several do
      };
      try {
        pool.run(100, task);
        FAIL() << "nothing was thrown";
      } catch (const int64_t first) {
        EXPECT_EQ(first, bad) << threads << " threads";
      }
      EXPECT_EQ(inside, 0);
      for (int64_t i = 0; i <= bad; ++i) EXPECT_EQ(runs[static_cast<size_t>(i)], 1);
      std::atomic<int> after = 0;  // the pool goes on as before
      pool.run(50, [&](int64_t, int) { ++after; });
      EXPECT_EQ(after, 50);
    }
}

#if defined(__has_feature)
#define SIXFOLD_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define SIXFOLD_TEST_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    SIXFOLD_TEST_HAS_FEATURE(address_sanitizer) || SIXFOLD_TEST_HAS_FEATURE(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

void limit(int resource, rlim_t max) {
  const rlimit value{max, max};
  ASSERT_EQ(::setrlimit(resource, &value), 0);
}

/// Forbids this process to start more threads. The limit does not hold for root, which becomes another user.
void forbid_threads() {
  limit(RLIMIT_NPROC, 1);
  ASSERT_TRUE(::getuid() != 0 || ::setuid(65534) == 0);
}

/// Bytes of address space that the process takes now.
rlim_t address_space() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

/// Makes a pool, works with it and ends the process: with status 0 if that succeeded with at most
/// `max_threads`.
[[noreturn]] void use_pool(int requested, int max_threads) {
  ThreadPool pool(requested);
  std::atomic<int> runs = 0;
  pool.run(100, [&](int64_t, int) { ++runs; });
  const ThreadPool another(requested);
  std::_Exit(runs == 100 && pool.threads() >= 1 && pool.threads() <= max_threads ? 0 : 1);
}

TEST(ThreadPool, HasFewerThreadsWhereMemoryForTheirStacksEnds) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's own memory does not fit into the limit";
  const auto within_limit = [] {
    limit(RLIMIT_AS, address_space() + (rlim_t{200} << 20));
    use_pool(1000, 100);
  };
  EXPECT_EXIT(within_limit(), testing::ExitedWithCode(0), "warning: the system refuses to start 1000 threads");
}

TEST(ThreadPool, HasOneThreadWhereNoMoreAreAllowedAndSaysSoOnce) {
  const auto within_limit = [] {
    forbid_threads();
    use_pool(8, 1);
  };
  EXPECT_EXIT(within_limit(), testing::ExitedWithCode(0),
              "^warning: the system refuses to start 8 threads .*, so one is used; [^\n]*\n$");
}

TEST(StartThread, ReturnsNoneWhereTheSystemRefuses) {
  const auto within_limit = [] {
    forbid_threads();
    std::_Exit(start_thread([] {}).joinable() ? 1 : 0);
  };
  EXPECT_EXIT(within_limit(), testing::ExitedWithCode(0), "warning: the system refuses");
}

TEST(AvailableThreads, IsAtLeastOne) { EXPECT_GE(available_threads(), 1); }

}  // namespace
}  // namespace sixfold
