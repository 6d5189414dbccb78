#include "data/batch_stream.h"

#include <chrono>

namespace sixfold {
namespace {

constexpr size_t ahead = 8;  // batches

}  // namespace

BatchStream::BatchStream(Batcher& batcher, int64_t most_tokens)
    : batcher_(batcher), most_tokens_(most_tokens), thread_([this] { work(); }) {}

BatchStream::~BatchStream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchStream::work() {
  try {
    for (;;) {
      Next next;
      Batch batch = batcher_.next();
      next.after = batcher_.position();
      if (most_tokens_ > 0 && batch.tokens() > most_tokens_)
        next.parts = split(batch, most_tokens_);
      else
        next.parts.push_back(std::move(batch));
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
  std::unique_lock lock(mutex_);
  if (ready_.empty() && !error_) {
    const auto begun = std::chrono::steady_clock::now();
    changed_.wait(lock, [this] { return error_ || !ready_.empty(); });
    seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }
  if (ready_.empty()) std::rethrow_exception(error_);
  Next next = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return next;
}

}  // namespace sixfold
