#include "runtime/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "runtime/poll.h"

namespace sixfold {
namespace {

/// Whether an engine of this process computes with its helpers: threads that wait for one another must not wait
/// for a processor, so that the helpers of one engine work at a time.
std::atomic_flag helpers_work;

}  // namespace

Engine::Engine(int threads, std::function<DecodeWorkspace()> workspace, CallingThreads calling)
    : threads_(threads),
      calling_(calling),
      workspace_(std::move(workspace)),
      most_workers_(calling == CallingThreads::decode ? threads - 1 : threads) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  more_work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Engine::Client::Client(Engine& engine, std::string caller) : engine_(engine), caller_(std::move(caller)) {
  const std::lock_guard lock(engine.mutex_);
  number_ = ++engine.last_client_;
  next_ = std::exchange(engine.clients_, this);
}

Engine::Client::~Client() {
  const std::lock_guard lock(engine_.mutex_);
  Client** place = &engine_.clients_;
  while (*place != this) place = &(*place)->next_;
  *place = next_;
}

void Engine::submit(const Client& client, std::unique_ptr<Request> request) {
  request->client = client.number_;
  queue_.push(std::move(request), client.caller_);
}

DecodingCounts Engine::counts() const {
  DecodingCounts counts = queue_.statistics().counts();
  counts.waiting = queue_.size();
  return counts;
}

void Engine::help(Client& client) {
  Lock lock(mutex_);
  if (calling_ == CallingThreads::wait) {
    if (!queue_.empty()) call_worker(lock);
    if (!workers_.empty()) return wait(client, std::chrono::milliseconds(200), lock);
  }  // without any worker, since the system refuses to start one, calling threads decode after all
  if (!decode_next(lock, client.number_)) wait(client, std::chrono::milliseconds(2), lock);
}

/// Only the client whose request was completed is woken: with many clients, waking all of them would cost more
/// than a step of decoding.
void Engine::wait(Client& client, std::chrono::milliseconds most, Lock& lock) {
  client.changed_.wait_for(lock, most, [&] { return client.ended_; });
  client.ended_ = false;
}

void Engine::work(int worker) {
  Lock lock(mutex_);
  while (!stop_ && worker < most_workers_) {
    const bool did_task = do_open_task(lock);
    if (decode_next(lock, {}) || did_task) continue;
    ++idle_workers_;
    more_work_.wait(lock);
    --idle_workers_;
  }
}

/// A calling thread decodes one step, since it may then have what it waits for; a worker decodes its batch to
/// the end.
bool Engine::decode_next(Lock& lock, std::optional<uint64_t> client) {
  Slot* slot = claim(client);
  if (!slot) return false;
  slot->busy = true;
  slot->client = client;
  do decode(*slot, lock);
  while (!client && !slot->batch.empty());
  slot->busy = false;
  if (slot->batch.empty() && std::ssize(slots_) > threads_)  // a batch of one of many calls at the same time
    std::erase_if(slots_, [&](const auto& other) { return other.get() == slot; });
  return true;
}

/// Returns a batch that no thread is decoding, or null: that of the client if it was begun, else an empty one
/// if requests wait. A calling thread decodes its own client's requests, so that a short call does not pay for
/// the large batch of another; workers take everybody's by turns.
Engine::Slot* Engine::claim(std::optional<uint64_t> client) {
  Slot* empty = nullptr;
  for (const auto& slot : slots_) {
    if (slot->busy) continue;
    if (slot->batch.empty())
      empty = slot.get();
    else if (slot->client == client)
      return slot.get();
  }
  const int64_t waiting = client ? queue_.tokens(*client) : queue_.tokens();
  if (waiting == 0 || empty) return waiting == 0 ? nullptr : empty;
  try {
    std::unique_ptr<Slot> slot(new Slot{RunningBatch(workspace_(), queue_)});
    slots_.push_back(std::move(slot));
  } catch (...) {
    if (client) throw;
    return nullptr;  // the calling threads decode without this worker
  }
  return slots_.back().get();
}

/// The threads that compute the kernels of the only batch that is decoded; null: none but the one that decodes
/// it.
ThreadPool* Engine::helpers_of_one_batch() noexcept {
  try {
    if (!helpers_) helpers_ = std::make_unique<ThreadPool>(std::min(threads_, available_threads()));
  } catch (...) {
    // No memory for other threads.
  }
  return helpers_.get();
}

/// If few requests wait, each free thread gets an equal share of them. A batch that is decoded alone has all
/// threads: what bounds a step of few tokens is the reading of the weights, which they divide. Several batches
/// that are decoded side by side need no threads to wait for one another.
void Engine::decode(Slot& slot, Lock& lock) {
  const auto busy = std::count_if(slots_.begin(), slots_.end(), [](const auto& s) { return s->busy; });
  const int64_t waiting = slot.client ? queue_.tokens(*slot.client) : queue_.tokens();
  const int64_t free = std::max<int64_t>(threads_ - busy + 1, 1);
  const int64_t share = (waiting + free - 1) / free;
  const bool call = share < waiting && queue_.size() > 1;
  if (call) call_worker(lock);
  const bool alone = threads_ > 1 && busy == 1 && !call && !helpers_work.test_and_set();
  ThreadPool* const helpers = alone ? helpers_of_one_batch() : nullptr;
  lock.unlock();
  slot.batch.use_threads(helpers);
  const SubnormalsAsZero subnormals;
  slot.batch.step({.share = share, .client = slot.client});
  if (alone) helpers_work.clear();
  lock.lock();
  const std::vector<uint64_t> ended = slot.batch.take_ended();
  for (Client* client = ended.empty() ? nullptr : clients_; client; client = client->next_) {
    if (std::ranges::find(ended, client->number_) == ended.end()) continue;
    client->ended_ = true;
    client->changed_.notify_one();
  }
}

/// Wakes an idle worker, or starts as many as there is work for.
void Engine::call_worker(Lock& lock) noexcept {
  if (idle_workers_ > 0) return more_work_.notify_one();
  int64_t useful = queue_.size();
  for (const Tasks* tasks : tasks_) useful += tasks->count - tasks->next;
  try {
    start_workers(static_cast<int>(std::min<int64_t>(useful, most_workers_)), lock);
  } catch (...) {
    // No memory for another thread: those that there are do the work.
  }
}

/// If the system refuses to start all of them, half of the new ones are given up: decoding needs the exhausted
/// resource too. They have not begun, since that takes the lock.
void Engine::start_workers(int wanted, Lock& lock) {
  const int before = static_cast<int>(workers_.size());
  int started = 0;
  std::vector<std::thread> surplus;
  if (wanted > before) {  // first, since a thread that can't be kept would end the program
    workers_.reserve(static_cast<size_t>(wanted));
    surplus.reserve(static_cast<size_t>(wanted - before));
  }
  for (; before + started < wanted; ++started) {
    const int index = before + started;
    std::thread worker = start_thread([this, index] { work(index); }, threads_, before + started / 2 + 1);
    if (!worker.joinable()) break;
    workers_.push_back(std::move(worker));
  }
  if (before + started >= wanted) return;
  most_workers_ = before + started / 2;
  for (; std::ssize(workers_) > most_workers_; workers_.pop_back())
    surplus.push_back(std::move(workers_.back()));
  lock.unlock();
  for (std::thread& worker : surplus) worker.join();
  lock.lock();
}

/// Does a task of one of the calls of `run`, which take turns.
bool Engine::do_open_task(Lock& lock) {
  const auto open =
      std::find_if(tasks_.begin(), tasks_.end(), [](const Tasks* tasks) { return tasks->open(); });
  if (open == tasks_.end()) return false;
  Tasks& tasks = **open;
  std::rotate(open, open + 1, tasks_.end());
  do_task(tasks, lock);
  return true;
}

void Engine::do_task(Tasks& tasks, Lock& lock) {
  const int64_t index = tasks.next++;
  ++tasks.running;
  if (tasks.open()) call_worker(lock);
  std::exception_ptr error;
  lock.unlock();
  try {
    const SubnormalsAsZero subnormals;
    tasks.task(index);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (error && !tasks.error) tasks.error = error;
  if (--tasks.running == 0 && !tasks.open()) tasks.ended.notify_one();
}

void Engine::run(int64_t count, const std::function<void(int64_t)>& task) {
  Tasks tasks{task, count};
  Lock lock(mutex_);
  tasks_.push_back(&tasks);
  if (calling_ == CallingThreads::wait && tasks.open()) call_worker(lock);
  // Without any worker, since the system refuses to start one, calling threads do their tasks after all.
  const auto waits = [&] { return calling_ == CallingThreads::wait && !workers_.empty(); };
  const auto poll = [&] {
    lock.unlock();
    Poll::now();
    lock.lock();
  };
  for (; tasks.open() && !waits(); poll()) do_task(tasks, lock);
  for (; tasks.open() || tasks.running > 0; poll())
    tasks.ended.wait_for(lock, std::chrono::milliseconds(200),
                         [&] { return !tasks.open() && tasks.running == 0; });
  std::erase(tasks_, &tasks);
  if (tasks.error) std::rethrow_exception(tasks.error);
}

}  // namespace sixfold
