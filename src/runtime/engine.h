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

/// Decodes for all calls and clients of a loaded model. There is one queue of requests, and each thread takes
/// requests from it when its batch has room. The calling threads that wait for results decode too, but only
/// their own requests and tasks: a single sentence needs no switch between threads, and a short call does not
/// wait for a long one. While one batch is decoded alone, all threads compute it together. The engine starts
/// worker threads of its own when first more requests wait than the calling threads can take at once; they work
/// for everybody by turns. Safe to share between threads.
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

  /// A call whose requests the engine decodes. For one thread. Must outlive its requests.
  class Client {
   public:
    /// `caller`: a name of whom the call is for. Calls of one caller share its turns.
    explicit Client(Engine& engine, std::string caller = "");
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

   private:
    friend class Engine;
    Engine& engine_;
    const std::string caller_;
    uint64_t number_;
    Client* next_;        // the clients form a list, since waiting must not fail for want of memory
    bool ended_ = false;  // whether a request has been completed since the client last waited
    std::condition_variable changed_;
  };

  int threads() const { return threads_; }
  /// Queues a request of the client, which must call `help` until the request is completed.
  void submit(const Client& client, std::unique_ptr<Request> request);
  /// Fails a client's requests that are not being decoded yet with `Cancelled`.
  void withdraw(const Client& client) noexcept { queue_.withdraw(client.number_); }
  /// The total size in tokens of a client's requests that are not being decoded yet.
  int64_t waiting_tokens(const Client& client) const { return queue_.tokens(client.number_); }
  DecodingCounts counts() const;
  /// For what `run` does, which the engine does not count.
  DecodingStatistics& statistics() { return queue_.statistics(); }
  /// Decodes one step of the client's requests. If all of them are being decoded by other threads, or calling
  /// threads only wait, waits until one is completed, but at most a short time.
  void help(Client& client);
  /// Calls `task(i)` for each i in [0, count), in any order, on the engine's threads and, unless calling
  /// threads only wait, on this one, which polls between calls. Returns when all calls have ended. If a call
  /// throws, no further calls begin, and one of the exceptions is rethrown.
  void run(int64_t count, const std::function<void(int64_t)>& task);

 private:
  /// A batch, decoded by one thread at a time.
  struct Slot {
    RunningBatch batch;
    bool busy = false;
    std::optional<uint64_t> client = {};  ///< whose requests it holds; none: everybody's
  };
  struct Tasks {
    const std::function<void(int64_t)>& task;
    int64_t count, next = 0, running = 0;
    std::exception_ptr error = nullptr;
    std::condition_variable ended = {};
    bool open() const { return next < count && !error; }
  };
  using Lock = std::unique_lock<std::mutex>;

  static void wait(Client& client, std::chrono::milliseconds most, Lock& lock);
  bool decode_next(Lock& lock, std::optional<uint64_t> client);
  bool do_open_task(Lock& lock);
  void do_task(Tasks& tasks, Lock& lock);
  Slot* claim(std::optional<uint64_t> client);
  void decode(Slot& slot, Lock& lock);  // one step
  ThreadPool* helpers_of_one_batch() noexcept;
  void call_worker(Lock& lock) noexcept;
  void start_workers(int wanted, Lock& lock);
  void work(int worker);

  const int threads_;
  const CallingThreads calling_;
  const std::function<DecodeWorkspace()> workspace_;
  RequestQueue queue_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable more_work_;
  Client* clients_ = nullptr;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Tasks*> tasks_;
  std::vector<std::thread> workers_;
  std::unique_ptr<ThreadPool> helpers_;  // at most one batch uses them at a time; none until they are needed
  int most_workers_, idle_workers_ = 0;
  uint64_t last_client_ = 0;
  bool stop_ = false;
};

}  // namespace sixfold
