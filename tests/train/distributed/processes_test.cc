#include "train/distributed/processes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>

#include "train/distributed/threads.h"

namespace sixfold {
namespace {

TEST(Processes, OneHasNothingToExchange) {
  Processes& one = Processes::one();
  EXPECT_TRUE(one.is_root());
  EXPECT_EQ(one.all_gather("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(one.broadcast("b"), "b");
  EXPECT_FALSE(one.any(false));
  EXPECT_EQ(one.interleave({"a", "b"}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(one.run_root_first([] { return 7; }), 7);
  EXPECT_TRUE(one.report("failure"));
}

class SomeProcesses : public testing::TestWithParam<int> {};

TEST_P(SomeProcesses, GatherInTheOrderOfTheProcesses) {
  const int count = GetParam();
  on_processes(count, [&](Processes& processes) {
    // short ones, empty ones, and ones that are longer than what is sent with the length
    for (const size_t size : {0, 1, 247, 248, 249, 100'000}) {
      const auto of = [&](int rank) {
        return std::string(size * static_cast<size_t>(rank % 3), static_cast<char>('a' + rank));
      };
      const auto all = processes.all_gather(of(processes.rank()));
      ASSERT_EQ(std::ssize(all), count);
      for (int rank = 0; rank < count; ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)], of(rank));
      EXPECT_EQ(processes.broadcast(of(processes.rank() + 1)), of(1));
      const auto at_root = processes.gather(of(processes.rank()));
      EXPECT_EQ(at_root, processes.is_root() ? all : std::vector<std::string>());
    }
    EXPECT_EQ(processes.broadcast(processes.rank() + 0.5), 0.5);
    EXPECT_TRUE(processes.any(processes.rank() == count - 1));
    EXPECT_FALSE(processes.any(false));
  });
}

TEST_P(SomeProcesses, InterleaveWhatEachHasComputed) {
  on_processes(GetParam(), [&](Processes& processes) {
    for (int elements = 0; elements < 12; ++elements) {
      std::vector<std::string> own, all;
      for (int i = 0; i < elements; ++i) {
        all.push_back(std::string(static_cast<size_t>(i % 4), static_cast<char>('a' + i)));
        if (i % processes.size() == processes.rank()) own.push_back(all.back());
      }
      EXPECT_EQ(processes.interleave(own), all);
    }
  });
}

TEST_P(SomeProcesses, GetEachTicketOnce) {
  constexpr int64_t all = 40;
  std::array<std::atomic<int>, all> taken{};
  on_processes(GetParam(), [&](Processes& processes) {
    for (int64_t i = processes.next_ticket(); i < all; i = processes.next_ticket())
      ++taken[static_cast<size_t>(i)];
    processes.barrier();
  });
  for (const auto& count : taken) EXPECT_EQ(count, 1);
}

TEST_P(SomeProcesses, TheRootIsTheFirstInTurn) {
  std::atomic<int> ran = 0;
  on_processes(GetParam(), [&](Processes& processes) {
    const int turn = processes.run_root_first([&] { return ran++; });
    EXPECT_EQ(turn == 0, processes.is_root());
  });
  EXPECT_EQ(ran, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Counts, SomeProcesses, testing::Values(1, 2, 3, 4, 7));

TEST(Processes, MessagesArriveWhileAProcessComputes) {
  on_processes(2, [](Processes& processes) {
    constexpr size_t size = 1 << 20;
    const Processes::Buffer out(new std::byte[size]), in(new std::byte[size]);
    std::fill_n(out.get(), size, static_cast<std::byte>(processes.rank() + 1));
    const auto received = processes.receive(1 - processes.rank(), in, size);
    const auto sent = processes.send(1 - processes.rank(), out, size);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!processes.done(received) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(processes.wait(received), size);
    processes.wait(sent);
    EXPECT_EQ(in[0], static_cast<std::byte>(2 - processes.rank()));
    EXPECT_EQ(in[size - 1], in[0]);
    EXPECT_GE(processes.bytes_sent(), static_cast<int64_t>(size));
  });
}

/// What becomes of the processes when something fails, and who says so.
struct Outcome {
  std::vector<std::string> errors;
  std::vector<bool> spoke, aborted;
};

Outcome fail_on(int count, double timeout, const std::function<void(Processes&, Post&)>& work) {
  Post post;
  post.silent.assign(static_cast<size_t>(count), false);
  Outcome outcome;
  outcome.errors.assign(static_cast<size_t>(count), "");
  std::vector<int> spoke(static_cast<size_t>(count)), aborted(static_cast<size_t>(count));
  std::barrier all_begun(count);  // a process that fails before others have begun ends their beginning
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      const auto own = static_cast<size_t>(rank);
      ThreadTransport transport(post, rank, count);
      Processes processes(transport, timeout);
      all_begun.arrive_and_wait();
      try {
        work(processes, post);
      } catch (const ProcessFailure& failure) {
        outcome.errors[own] = failure.what();
        spoke[own] = failure.rank() == rank && processes.report(failure.what());
      } catch (const Error& failure) {
        outcome.errors[own] = failure.what();
        spoke[own] = processes.report(failure.what());
      }
      processes.close();
      aborted[own] = transport.aborted;
    });
  for (std::thread& thread : threads) thread.join();
  outcome.spoke.assign(spoke.begin(), spoke.end());
  outcome.aborted.assign(aborted.begin(), aborted.end());
  return outcome;
}

TEST(FailingProcesses, TheOthersLearnWhyOneEnds) {
  const Outcome outcome = fail_on(3, 20, [](Processes& processes, Post&) {
    processes.barrier();
    if (processes.rank() == 1) throw_environment_error("the disk is full");
    processes.barrier();
  });
  EXPECT_EQ(outcome.errors[1], "the disk is full");
  for (const size_t other : {0, 2}) {
    EXPECT_NE(outcome.errors[other].find("process 1 on "), std::string::npos) << outcome.errors[other];
    EXPECT_NE(outcome.errors[other].find(": the disk is full"), std::string::npos);
  }
  EXPECT_EQ(outcome.spoke, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(outcome.aborted, (std::vector<bool>{false, false, false}));
}

TEST(FailingProcesses, AnErrorOfAllIsSaidByTheRoot) {
  const Outcome outcome = fail_on(3, 20, [](Processes&, Post&) { throw_input_error("unknown key"); });
  EXPECT_EQ(outcome.spoke, (std::vector<bool>{true, false, false}));
  for (const std::string& error : outcome.errors) EXPECT_EQ(error, "unknown key");
}

TEST(FailingProcesses, OneThatIsSilentIsNamedAfterTheTimeout) {
  const auto begun = std::chrono::steady_clock::now();
  const Outcome outcome = fail_on(3, 1, [&](Processes& processes, Post& post) {
    processes.barrier();
    if (processes.rank() == 2) {
      {
        const std::lock_guard lock(post.mutex);
        post.silent[2] = true;
      }
      std::this_thread::sleep_for(std::chrono::seconds(3));
      return;
    }
    processes.barrier();
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  EXPECT_LT(seconds, 15);
  for (const size_t other : {0, 1})
    EXPECT_NE(outcome.errors[other].find("has not answered in time (distributed.timeout: 1 seconds)"),
              std::string::npos)
        << outcome.errors[other];
  EXPECT_NE((outcome.errors[0] + outcome.errors[1]).find("process 2 on "), std::string::npos);
  EXPECT_EQ(outcome.spoke[0] + outcome.spoke[1], 1);
  EXPECT_TRUE(outcome.aborted[0]);  // the silent one is ended by the launcher
}

}  // namespace
}  // namespace sixfold
