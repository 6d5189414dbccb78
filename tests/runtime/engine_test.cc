#include "runtime/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include "backend/host_memory.h"
#include "error_message.h"
#include "runtime/poll.h"
#include "runtime/search.h"
#include "search/random_model.h"

namespace sixfold {
namespace {

/// A call that waits for its requests.
class TestCall final : public ResultSink {
 public:
  TestCall(Engine& engine, const Transformer& model, const SearchOptions& options)
      : engine_(engine), requests_(model.config(), options), call_(engine) {}
  void run(const std::vector<std::vector<int32_t>>& sources) {
    submit(sources);
    while (left_ > 0) help();
  }
  int left() const { return left_; }
  void help() { engine_.help(call_); }
  void withdraw() { engine_.withdraw(call_); }
  void submit(const std::vector<std::vector<int32_t>>& sources) {
    left_ = static_cast<int>(sources.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      engine_.submit(call_, requests_.make(sources[i], *this, i));
    }
  }
  void done(size_t index, const DecodeWorkspace&, std::vector<Hypothesis> best_first) override {
    const std::lock_guard lock(mutex_);
    found[index] = std::move(best_first[0]);
    --left_;
  }
  void failed(size_t, std::exception_ptr) noexcept override {
    ++failures;
    --left_;
  }
  std::map<size_t, Hypothesis> found;
  std::atomic<int> failures{0};

 private:
  Engine& engine_;
  SearchRequests requests_;
  Engine::Call call_;
  std::mutex mutex_;
  std::atomic<int> left_{0};
};

class EngineTest : public testing::TestWithParam<int> {
 protected:
  static SearchOptions options(int beam) {
    SearchOptions options;
    options.rules.beam_size = beam;
    options.rules.length_offset = 5;
    options.batch_tokens = 40;
    return options;
  }
  RandomModel model_{30, 5};
  Engine engine_{GetParam(), [this] { return DecodeWorkspace(model_, make_backend()); }};
};

INSTANTIATE_TEST_SUITE_P(Threads, EngineTest, testing::Values(1, 2, 4),
                         [](const auto& threads) { return std::to_string(threads.param); });

/// The cpu backend, which notes how many threads it is lent.
class NotingBackend final : public HostBackend {
 public:
  explicit NotingBackend(std::set<int>& lent) : lent_(lent) {}
  std::string name() const override { return cpu_->name(); }
  std::shared_ptr<Backend> sibling() const override { return cpu_->sibling(); }
  void run(KernelCall call) override { cpu_->run(call); }
  std::shared_ptr<PackedWeight> pack(View b, bool transpose_b, void* memory) override {
    return cpu_->pack(b, transpose_b, memory);
  }
  size_t packed_bytes(View b, bool transpose_b) override { return cpu_->packed_bytes(b, transpose_b); }
  void use_threads(ThreadPool* pool) override {
    lent_.insert(pool ? pool->threads() : 1);
    cpu_->use_threads(pool);
  }

 private:
  std::set<int>& lent_;
  std::shared_ptr<Backend> cpu_ = make_backend();
};

TEST_P(EngineTest, OneRequestHasAllThreads) {
  if (available_threads() == 1) GTEST_SKIP() << "there is one processor only";
  std::set<int> lent;
  Engine engine(GetParam(), [&] { return DecodeWorkspace(model_, std::make_shared<NotingBackend>(lent)); });
  TestCall call(engine, model_, options(2));
  call.run({{3, 4, 5, 2}});
  EXPECT_EQ(call.found.size(), 1u);
  EXPECT_EQ(lent, std::set<int>{std::min(GetParam(), available_threads())});
}

TEST_P(EngineTest, ServesManyCallsAtOnce) {
  constexpr size_t calls = 5;
  std::vector<std::unique_ptr<TestCall>> all;
  std::vector<std::vector<std::vector<int32_t>>> sources;
  for (size_t c = 0; c < calls; ++c) {
    all.push_back(std::make_unique<TestCall>(engine_, model_, options(1 + static_cast<int>(c) % 3)));
    sources.push_back(random_sources(c == 0 ? 1 : 40, 8, 30, c));
  }
  sources[4][7] = {99, 2};  // no token of the model: it fails alone
  std::vector<std::thread> threads;
  for (size_t c = 0; c < calls; ++c) threads.emplace_back([&, c] { all[c]->run(sources[c]); });
  for (std::thread& thread : threads) thread.join();
  for (size_t c = 0; c < calls; ++c) {
    EXPECT_EQ(all[c]->found.size() + static_cast<size_t>(all[c]->failures), sources[c].size());
    for (const auto& found : all[c]->found)
      search(model_, {sources[c][found.first]}, options(1 + static_cast<int>(c) % 3),
             [&](size_t, const auto& alone) {
               EXPECT_EQ(found.second.ids, alone[0].ids);
               EXPECT_EQ(found.second.score, alone[0].score);  // to the bit
             });
  }
  EXPECT_EQ(all[4]->failures, 1);
}

/// Memory may run out at any moment: then requests fail, and none is forgotten.
TEST_P(EngineTest, ForgetsNoRequestWhereNoWorkspaceCanBeMade) {
  std::atomic<int> made{0};
  Engine engine(GetParam(), [&]() -> DecodeWorkspace {
    if (made++ % 3 != 1) throw std::bad_alloc();
    return DecodeWorkspace(model_, make_backend());
  });
  const auto sources = random_sources(20, 8, 30, 1);
  TestCall call(engine, model_, options(2));
  int refusals = 0;
  call.submit(sources);
  const auto finish = [&] {
    while (call.left() > 0) {
      try {
        call.help();
      } catch (const std::bad_alloc&) {
        ++refusals;
      }
    }
  };
  finish();
  EXPECT_GT(refusals, 0);
  EXPECT_EQ(call.found.size(), sources.size());
  call.submit(sources);
  call.withdraw();
  if (GetParam() == 1) {
    EXPECT_EQ(static_cast<size_t>(call.failures), sources.size());
  }
  finish();  // workers may have taken some requests before they were withdrawn
}

TEST_P(EngineTest, RunsTasks) {
  std::vector<std::atomic<int>> calls(100);
  engine_.run(100, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  engine_.run(0, [](int64_t) { FAIL(); });
  std::atomic<int> late{0};
  EXPECT_EQ(error_message([&] {
              engine_.run(1000, [&](int64_t i) {
                if (i == 3) throw_input_error("the third");
                if (i <= 500) return;
                ++late;  // and long enough that the thread of the error must have had its turn
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
              });
            }),
            "the third");
  EXPECT_LT(late, 499);
  engine_.run(3, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
  EXPECT_EQ(calls[2], 2);
}

/// The calling thread polls, and in a poll subnormals are numbers as everywhere outside the engine.
TEST_P(EngineTest, PollsWhileItRunsTasks) {
  const volatile float subnormal = 1e-40F;
  const auto task = [&](int64_t) {
    EXPECT_EQ(subnormal * 2, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const std::thread::id caller = std::this_thread::get_id();
  int outer = 0, inner = 0;
  {
    const Poll poll([&] {
      ++outer;
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_GT(subnormal * 2, 0);
    });
    engine_.run(20, task);
    EXPECT_GE(outer, 20 / GetParam() / 2);
    const int before = outer;
    {
      const Poll last([&] { ++inner; });
      engine_.run(5, task);
    }
    EXPECT_EQ(outer, before);
    EXPECT_GT(inner, 0);
    engine_.run(1, task);
    EXPECT_GT(outer, before);
  }
  const int after = outer;
  engine_.run(5, task);
  EXPECT_EQ(outer, after);
}

/// In a server, where many calls come at once, only the engine's own threads work: no more than it may use.
TEST_P(EngineTest, ItsThreadsAloneRunTasksWhereCallsWait) {
  Engine engine(
      GetParam(), [this] { return DecodeWorkspace(model_, make_backend()); }, CallingThreads::wait);
  std::mutex mutex;
  std::set<std::thread::id> callers, runners;
  std::atomic<int> running{0}, most{0}, done{0};
  std::vector<std::jthread> calls;
  for (int c = 0; c < 8; ++c)
    calls.emplace_back([&] {
      {
        const std::lock_guard lock(mutex);
        callers.insert(std::this_thread::get_id());
      }
      for (const int tasks : {5, 0, 1})
        engine.run(tasks, [&](int64_t) {
          const int now = ++running;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          {
            const std::lock_guard lock(mutex);
            runners.insert(std::this_thread::get_id());
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          ++done;
          --running;
        });
    });
  calls.clear();
  EXPECT_EQ(done, 8 * 6);
  EXPECT_LE(most, GetParam());
  EXPECT_LE(std::ssize(runners), GetParam());
  for (const std::thread::id& caller : callers) EXPECT_EQ(runners.count(caller), 0u);
  EXPECT_EQ(error_message([&] { engine.run(3, [](int64_t) { throw_input_error("a task"); }); }), "a task");
}

/// While one call runs tasks, which may take long, another decodes its own requests, and does no foreign task.
TEST_P(EngineTest, ACallWorksForItselfAlone) {
  TestCall call(engine_, model_, options(2));
  std::atomic<bool> decoded{false};
  std::mutex mutex;
  std::set<std::thread::id> runners;
  std::thread other([&] {
    engine_.run(20, [&](int64_t) {
      {
        const std::lock_guard lock(mutex);
        runners.insert(std::this_thread::get_id());
      }
      for (int i = 0; i < 10'000 && !decoded; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(decoded);
    });
  });
  while (true) {
    const std::lock_guard lock(mutex);
    if (!runners.empty()) break;
  }
  call.run(random_sources(5, 8, 30, 1));
  decoded = true;
  EXPECT_EQ(call.found.size(), 5u);
  other.join();
  EXPECT_FALSE(runners.contains(std::this_thread::get_id()));
}

}  // namespace
}  // namespace sixfold
