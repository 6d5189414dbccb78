#include "data/batch_stream.h"

#include <chrono>

#include "base/threads.h"

namespace sixfold {
namespace {

constexpr size_t ahead = 8;  // batches

}  // namespace

BatchStream::BatchStream(Batcher& batcher, int64_t most_tokens)
    : batcher_(batcher), most_tokens_(most_tokens), thread_(start_thread([this] { work(); })) {}

BatchStream::~BatchStream() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

BatchStream::Next BatchStream::make() {
  Next next;
  Batch batch = batcher_.next();
  next.after = batcher_.position();
  if (most_tokens_ > 0 && batch.tokens() > most_tokens_)
    next.parts = split(batch, most_tokens_);
  else
    next.parts.push_back(std::move(batch));
  return next;
}

void BatchStream::work() {
  try {
    for (;;) {
      Next next = make();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || ready_.size() < ahead; });
      if (stop_) return;
      ready_.push_back(std::move(next));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

BatchStream::Next BatchStream::next() {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  const auto waited = [&] { seconds_waited_ += std::chrono::duration<double>(Clock::now() - begun).count(); };
  if (!thread_.joinable()) {
    Next made = make();
    waited();
    return made;
  }
  std::unique_lock lock(mutex_);
  if (ready_.empty() && !error_) {
    changed_.wait(lock, [this] { return error_ || !ready_.empty(); });
    waited();
  }
  if (ready_.empty()) std::rethrow_exception(error_);
  Next next = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return next;
}

}  // namespace sixfold
