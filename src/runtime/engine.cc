#include "runtime/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "runtime/poll.h"

namespace sixfold {
namespace {

/// Whether an engine of this process computes with its helpers. Helpers wait for one another within a kernel,
/// so each of them needs a processor at once. Therefore the helpers of only one engine work at a time.
std::atomic_flag helpers_busy;

}  // namespace

Engine::Engine(int threads, std::function<DecodeWorkspace()> workspace, CallingThreads calling)
    : threads_(threads),
      calling_(calling),
      workspace_(std::move(workspace)),
      max_workers_(calling == CallingThreads::decode ? threads - 1 : threads) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  more_work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Engine::Call::Call(Engine& engine, std::string client) : engine_(engine), client_(std::move(client)) {
  const std::lock_guard lock(engine.mutex_);
  number_ = ++engine.last_call_;
  next_ = std::exchange(engine.calls_, this);
}

Engine::Call::~Call() {
  const std::lock_guard lock(engine_.mutex_);
  Call** place = &engine_.calls_;
  while (*place != this) place = &(*place)->next_;
  *place = next_;
}

void Engine::submit(const Call& call, std::unique_ptr<Request> request) {
  request->call = call.number_;
  queue_.push(std::move(request), call.client_);
}

DecodingCounts Engine::counts() const {
  DecodingCounts counts = queue_.statistics().counts();
  counts.waiting = queue_.size();
  return counts;
}

void Engine::help(Call& call) {
  Lock lock(mutex_);
  if (calling_ == CallingThreads::wait) {
    if (!queue_.empty()) wake_worker(lock);
    if (!workers_.empty()) return wait(call, std::chrono::milliseconds(200), lock);
  }  // if the system refuses to start any worker, calling threads decode after all
  if (!decode_next(lock, call.number_)) wait(call, std::chrono::milliseconds(2), lock);
}

/// Only the thread of the call whose request was completed is woken: with many calls, waking all threads would
/// cost more than a step of decoding.
void Engine::wait(Call& call, std::chrono::milliseconds timeout, Lock& lock) {
  call.changed_.wait_for(lock, timeout, [&] { return call.ended_; });
  call.ended_ = false;
}

void Engine::work(int worker) {
  Lock lock(mutex_);
  while (!stop_ && worker < max_workers_) {
    const bool did_task = do_next_task(lock);
    if (decode_next(lock, {}) || did_task) continue;
    ++idle_workers_;
    more_work_.wait(lock);
    --idle_workers_;
  }
}

/// A calling thread decodes one step, since the results that it waits for may be complete then. A worker
/// decodes its batch to the end.
bool Engine::decode_next(Lock& lock, std::optional<uint64_t> call) {
  Slot* slot = claim(call);
  if (!slot) return false;
  slot->busy = true;
  slot->call = call;
  do decode(*slot, lock);
  while (!call && !slot->batch.empty());
  slot->busy = false;
  if (slot->batch.empty() &&
      std::ssize(slots_) > threads_)  // more slots than threads: many calls decode at the same time
    std::erase_if(slots_, [&](const auto& other) { return other.get() == slot; });
  return true;
}

/// Returns a slot that no thread is decoding: the one that holds requests of the call, else an empty one if
/// requests wait, else null. A calling thread decodes only requests of its own call, so that a short call is
/// not slowed down by the large batch of another. Workers, which pass no call, take the requests of all calls
/// in turn.
Engine::Slot* Engine::claim(std::optional<uint64_t> call) {
  Slot* empty = nullptr;
  for (const auto& slot : slots_) {
    if (slot->busy) continue;
    if (slot->batch.empty())
      empty = slot.get();
    else if (slot->call == call)
      return slot.get();
  }
  const int64_t waiting = call ? queue_.tokens(*call) : queue_.tokens();
  if (waiting == 0 || empty) return waiting == 0 ? nullptr : empty;
  try {
    std::unique_ptr<Slot> slot(new Slot{RunningBatch(workspace_(), queue_)});
    slots_.push_back(std::move(slot));
  } catch (...) {
    if (call) throw;
    return nullptr;  // the calling threads decode without this worker
  }
  return slots_.back().get();
}

/// The threads that compute the kernels of the only batch that is being decoded; null: only the thread that
/// decodes it.
ThreadPool* Engine::helpers_of_one_batch() noexcept {
  try {
    if (!helpers_) helpers_ = std::make_unique<ThreadPool>(std::min(threads_, available_threads()));
  } catch (...) {
    // No memory for other threads.
  }
  return helpers_.get();
}

/// If few requests wait, each free thread gets an equal share of them. If only one batch is decoded, all
/// threads compute it: the time of a step of few tokens is that of reading the weights, which the threads
/// share. If several batches are decoded side by side, each is computed by one thread, and none waits for
/// another.
void Engine::decode(Slot& slot, Lock& lock) {
  const auto busy = std::count_if(slots_.begin(), slots_.end(), [](const auto& s) { return s->busy; });
  const int64_t waiting = slot.call ? queue_.tokens(*slot.call) : queue_.tokens();
  const int64_t free = std::max<int64_t>(threads_ - busy + 1, 1);
  const int64_t share = (waiting + free - 1) / free;
  const bool needs_worker = share < waiting && queue_.size() > 1;
  if (needs_worker) wake_worker(lock);
  const bool alone = threads_ > 1 && busy == 1 && !needs_worker && !helpers_busy.test_and_set();
  ThreadPool* const helpers = alone ? helpers_of_one_batch() : nullptr;
  lock.unlock();
  slot.batch.use_threads(helpers);
  const SubnormalsAsZero subnormals;
  slot.batch.step({.share = share, .call = slot.call});
  if (alone) helpers_busy.clear();
  lock.lock();
  const std::vector<uint64_t> ended = slot.batch.take_ended();
  for (Call* call = ended.empty() ? nullptr : calls_; call; call = call->next_) {
    if (std::ranges::find(ended, call->number_) == ended.end()) continue;
    call->ended_ = true;
    call->changed_.notify_one();
  }
}

/// Wakes an idle worker, or starts as many as there is work for.
void Engine::wake_worker(Lock& lock) noexcept {
  if (idle_workers_ > 0) return more_work_.notify_one();
  int64_t useful = queue_.size();
  for (const Tasks* tasks : tasks_) useful += tasks->count - tasks->next;
  try {
    start_workers(static_cast<int>(std::min<int64_t>(useful, max_workers_)), lock);
  } catch (...) {
    // There is no memory for another thread: the existing ones do the work.
  }
}

/// Starts workers until there are `count`. If the system refuses to start all of them, half of the new ones end
/// again, because decoding needs the exhausted resource too. They have not begun to work, since this thread
/// holds the lock.
void Engine::start_workers(int count, Lock& lock) {
  const int before = static_cast<int>(workers_.size());
  int started = 0;
  std::vector<std::thread> surplus;
  if (count > before) {  // before any thread starts: one that is not joined would terminate the program
    workers_.reserve(static_cast<size_t>(count));
    surplus.reserve(static_cast<size_t>(count - before));
  }
  for (; before + started < count; ++started) {
    const int index = before + started;
    std::thread worker = start_thread([this, index] { work(index); }, threads_, before + started / 2 + 1);
    if (!worker.joinable()) break;
    workers_.push_back(std::move(worker));
  }
  if (before + started >= count) return;
  max_workers_ = before + started / 2;
  for (; std::ssize(workers_) > max_workers_; workers_.pop_back())
    surplus.push_back(std::move(workers_.back()));
  lock.unlock();
  for (std::thread& worker : surplus) worker.join();
  lock.lock();
}

/// Performs the next task of one of the running calls of `run`, which take turns.
bool Engine::do_next_task(Lock& lock) {
  const auto next =
      std::find_if(tasks_.begin(), tasks_.end(), [](const Tasks* tasks) { return tasks->has_next(); });
  if (next == tasks_.end()) return false;
  Tasks& tasks = **next;
  std::rotate(next, next + 1, tasks_.end());
  do_task(tasks, lock);
  return true;
}

void Engine::do_task(Tasks& tasks, Lock& lock) {
  const int64_t index = tasks.next++;
  ++tasks.running;
  if (tasks.has_next()) wake_worker(lock);
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
  if (--tasks.running == 0 && !tasks.has_next()) tasks.ended.notify_one();
}

void Engine::run(int64_t count, const std::function<void(int64_t)>& task) {
  Tasks tasks{task, count};
  Lock lock(mutex_);
  tasks_.push_back(&tasks);
  if (calling_ == CallingThreads::wait && tasks.has_next()) wake_worker(lock);
  // If the system refuses to start any worker, calling threads do their tasks after all.
  const auto waits = [&] { return calling_ == CallingThreads::wait && !workers_.empty(); };
  const auto poll = [&] {
    lock.unlock();
    Poll::now();
    lock.lock();
  };
  for (; tasks.has_next() && !waits(); poll()) do_task(tasks, lock);
  for (; tasks.has_next() || tasks.running > 0; poll())
    tasks.ended.wait_for(lock, std::chrono::milliseconds(200),
                         [&] { return !tasks.has_next() && tasks.running == 0; });
  std::erase(tasks_, &tasks);
  if (tasks.error) std::rethrow_exception(tasks.error);
}

}  // namespace sixfold
