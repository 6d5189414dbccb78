#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace sixfold {
namespace {

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

TEST(AvailableThreads, IsAtLeastOne) { EXPECT_GE(available_threads(), 1); }

}  // namespace
}  // namespace sixfold
