#include "data/batch_stream.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/threads.h"

namespace sixfold {
namespace {

// The maximum number of batches that wait in the queue, and the maximum of their bytes. One batch may have more
// bytes.
constexpr int64_t max_waiting = 8, max_waiting_bytes = 32 << 20;

std::vector<Batch> parts_of(Batch shard, int64_t max_tokens) {
  if (max_tokens > 0 && shard.tokens() > max_tokens) return split(shard, max_tokens);
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

BatchStream::BatchStream(Batcher& batcher, int64_t max_tokens, ShardRange shards, int batches_of_update)
    : batcher_(batcher),
      max_tokens_(max_tokens),
      shards_(shards),
      batches_of_update_(batches_of_update),
      thread_(start_thread([this] { work(); })) {}

int64_t BatchStream::bytes(int64_t batch_bytes) {
  const int64_t waiting = std::max(batch_bytes, std::min(max_waiting * batch_bytes, max_waiting_bytes));
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

/// Computes the loss weight and the number of tokens of the next update, for which it makes all of its batches.
void BatchStream::measure_next_update() {
  update_ = {.begin = batcher_.position(), .end = {}};
  for (int i = 0; i < batches_of_update_; ++i) {
    const Batch batch = batcher_.next();
    update_.loss_weight += batch.loss_weight();
    update_.tokens += batch.tokens();
  }
  update_.end = batcher_.position();
}

BatchStream::Next BatchStream::make() {
  const bool several = batches_of_update_ > 1;
  if (several && update_.made == 0) measure_next_update();
  if (several && update_.made % batches_of_update_ == 0) batcher_.seek(update_.begin);
  Next next;
  Batch batch = batcher_.next();
  next.after = several ? update_.end : batcher_.position();
  next.batch.loss_weight = several ? update_.loss_weight : batch.loss_weight();
  next.batch.tokens = several ? update_.tokens : batch.tokens();
  if (++update_.made == batches_of_update_ * (shards_.end - shards_.begin)) update_.made = 0;
  std::vector<Batch> shards;
  if (shards_.count > 1)
    shards = divide(batch, shards_.count);
  else
    shards.push_back(std::move(batch));
  for (int s = shards_.begin; s < shards_.end; ++s)
    next.batch.shards.push_back(parts_of(std::move(shards[static_cast<size_t>(s)]), max_tokens_));
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
        return ready_.empty() ||
               (std::ssize(ready_) < max_waiting && ready_bytes_ + next.bytes <= max_waiting_bytes);
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
  const auto start = Clock::now();
  const auto add_waiting_time = [&] {
    seconds_waited_ += std::chrono::duration<double>(Clock::now() - start).count();
  };
  if (!thread_.joinable()) {
    Next made = make();
    add_waiting_time();
    return made;
  }
  std::unique_lock lock(mutex_);
  if (ready_.empty() && !error_) {
    changed_.wait(lock, [this] { return error_ || !ready_.empty(); });
    add_waiting_time();
  }
  if (ready_.empty()) std::rethrow_exception(error_);
  Next next = std::move(ready_.front());
  ready_.pop_front();
  ready_bytes_ -= next.bytes;
  changed_.notify_all();
  return next;
}

Update::Update(BatchStream& stream) : stream_(&stream), next_(stream.next()) {}

const UpdateBatch& Update::batch(int64_t i) {
  if (i != batch_index_) next_ = stream_->next();
  batch_index_ = i;
  return current();
}

}  // namespace sixfold
