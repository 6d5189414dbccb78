#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/threads.h"
#include "runtime/running_batch.h"
#include "runtime/runtime_options.h"

namespace sixfold {

/// Decodes for all calls of the predictors of a loaded model. There is one queue of requests, and each thread
/// takes requests from it when its batch has room. The calling threads that wait for results decode too, but
/// only their own requests and tasks: a single sentence needs no switch between threads, and a short call does
/// not wait for a long one. While only one batch is decoded, all threads compute it together. The engine starts
/// worker threads when for the first time more requests wait than the calling threads can take at once; the
/// workers serve all calls in turn. Safe to share between threads.
class Engine {
 public:
  /// `threads`: number of threads that one call uses: its own and the workers. Several calls at the same time
  /// share the workers, and each adds its own thread, unless calling threads only wait. `workspace` creates the
  /// workspace of a thread.
  Engine(int threads, std::function<DecodeWorkspace()> workspace,
         CallingThreads calling = CallingThreads::decode);
  /// All requests must have been completed.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// A call of a predictor, whose requests the engine decodes. For one thread. Must outlive its requests.
  class Call {
   public:
    /// `client`: the name of the client that the call serves (`RequestQueue`).
    explicit Call(Engine& engine, std::string client = "");
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    friend class Engine;
    Engine& engine_;
    const std::string client_;
    uint64_t number_;
    Call* next_;  // the calls form an intrusive list, so that waiting does not allocate memory, which may fail
    bool ended_ = false;  // whether a request has been completed since the call last waited
    std::condition_variable changed_;
  };

  int threads() const { return threads_; }
  /// Queues a request of the call, whose thread must call `help` until the request is completed.
  void submit(const Call& call, std::unique_ptr<Request> request);
  /// Fails the call's requests that are not being decoded yet with `Cancelled`.
  void withdraw(const Call& call) noexcept { queue_.withdraw(call.number_); }
  /// The total size in tokens of the call's requests that are not being decoded yet.
  int64_t waiting_tokens(const Call& call) const { return queue_.tokens(call.number_); }
  DecodingCounts counts() const;
  /// Lets the tasks of `run` count their work, which the engine does not count itself.
  DecodingStatistics& statistics() { return queue_.statistics(); }
  /// Decodes one step of the call's requests. If all of them are being decoded by other threads, or calling
  /// threads only wait, waits until one is completed, but at most a short time.
  void help(Call& call);
  /// Calls `task(i)` for each i in [0, count), in any order, on the engine's threads and, unless calling
  /// threads only wait, on this one, which polls between calls. Returns when all calls have ended. If a call
  /// throws, no further calls begin, and one of the exceptions is rethrown.
  void run(int64_t count, const std::function<void(int64_t)>& task);

 private:
  /// A batch, decoded by one thread at a time.
  struct Slot {
    RunningBatch batch;
    bool busy = false;
    std::optional<uint64_t> call = {};  ///< the call whose requests it holds; none: requests of all calls
  };
  /// The tasks of one call of `run`.
  struct Tasks {
    const std::function<void(int64_t)>& task;
    int64_t count, next = 0, running = 0;
    std::exception_ptr error = nullptr;
    std::condition_variable ended = {};
    bool has_next() const { return next < count && !error; }
  };
  using Lock = std::unique_lock<std::mutex>;

  static void wait(Call& call, std::chrono::milliseconds timeout, Lock& lock);
  bool decode_next(Lock& lock, std::optional<uint64_t> call);
  bool do_next_task(Lock& lock);
  void do_task(Tasks& tasks, Lock& lock);
  Slot* claim(std::optional<uint64_t> call);
  void decode(Slot& slot, Lock& lock);  // one step
  ThreadPool* helpers_of_one_batch() noexcept;
  void wake_worker(Lock& lock) noexcept;
  void start_workers(int count, Lock& lock);
  void work(int worker);

  const int threads_;
  const CallingThreads calling_;
  const std::function<DecodeWorkspace()> workspace_;
  RequestQueue queue_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable more_work_;
  Call* calls_ = nullptr;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Tasks*> tasks_;
  std::vector<std::thread> workers_;
  std::unique_ptr<ThreadPool> helpers_;  // at most one batch uses them at a time; none until they are needed
  int max_workers_, idle_workers_ = 0;
  uint64_t last_call_ = 0;
  bool stop_ = false;
};

}  // namespace sixfold
