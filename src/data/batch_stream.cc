#include "data/batch_stream.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/threads.h"

namespace sixfold {
namespace {

// The batches that wait are at most so many, and have at most so many bytes unless there is only one.
constexpr int64_t ahead = 8, most_bytes = 32 << 20;

std::vector<Batch> parts_of(Batch shard, int64_t most_tokens) {
  if (most_tokens > 0 && shard.tokens() > most_tokens) return split(shard, most_tokens);
  std::vector<Batch> parts;
  if (shard.size() > 0) parts.push_back(std::move(shard));
  return parts;
}

}  // namespace

void UpdateBatch::add(Batch part, size_t shard) {
  loss_weight += part.loss_weight();
  tokens += part.tokens();
  if (shards.size() <= shard) shards.resize(shard + 1);
  shards[shard].push_back(std::move(part));
}

void UpdateBatch::add(UpdateBatch next) {
  loss_weight += next.loss_weight;
  tokens += next.tokens;
  if (shards.size() < next.shards.size()) shards.resize(next.shards.size());
  for (size_t s = 0; s < next.shards.size(); ++s)
    std::ranges::move(next.shards[s], std::back_inserter(shards[s]));
}

BatchStream::BatchStream(Batcher& batcher, int64_t most_tokens, ShardRange shards)
    : batcher_(batcher),
      most_tokens_(most_tokens),
      shards_(shards),
      thread_(start_thread([this] { work(); })) {}

int64_t BatchStream::bytes(int64_t batch_bytes) {
  const int64_t waiting = std::max(batch_bytes, std::min(ahead * batch_bytes, most_bytes));
  return waiting + 3 * batch_bytes;
}

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
  next.batch.loss_weight = batch.loss_weight();
  next.batch.tokens = batch.tokens();
  std::vector<Batch> shards;
  if (shards_.count > 1)
    shards = divide(batch, shards_.count);
  else
    shards.push_back(std::move(batch));
  for (int s = shards_.begin; s < shards_.end; ++s)
    next.batch.shards.push_back(parts_of(std::move(shards[static_cast<size_t>(s)]), most_tokens_));
  for (const auto& shard : next.batch.shards)
    for (const Batch& part : shard) next.bytes += part.bytes();
  return next;
}

void BatchStream::work() {
  try {
    for (;;) {
      Next next = make();
      std::unique_lock lock(mutex_);
      const auto has_room = [&] {
        return ready_.empty() || (std::ssize(ready_) < ahead && ready_bytes_ + next.bytes <= most_bytes);
      };
      changed_.wait(lock, [&] { return stop_ || has_room(); });
      if (stop_) return;
      ready_bytes_ += next.bytes;
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
  ready_bytes_ -= next.bytes;
  changed_.notify_all();
  return next;
}

}  // namespace sixfold
