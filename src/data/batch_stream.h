#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "data/batcher.h"

namespace sixfold {

/// The batch of one update, divided into shards. A process of a run has some of them, in a row.
struct UpdateBatch {
  /// The shards of this process. The parts of a shard are processed one after the other, and their gradients
  /// are added. A shard without samples has no parts.
  std::vector<std::vector<Batch>> shards;
  double loss_weight = 0;  ///< sum over the shards of all processes; the loss is divided by it
  int64_t tokens = 0;      ///< source and target tokens of the shards of all processes

  /// Adds a part to one of this process's shards.
  void add(Batch part, size_t shard = 0);
  /// Adds the batch of the next step whose gradients are accumulated, shard by shard.
  void add(UpdateBatch next);
};

/// Into how many shards an update's batch is divided, and which of them a process has: [begin, end).
struct ShardRange {
  int count = 1, begin = 0, end = 1;
};

/// The batches of a `Batcher`, made ahead of time by a thread, so that training does not wait for the disk. If
/// the system refuses to start the thread, each batch is made when `next` is called.
class BatchStream {
 public:
  /// A batch, its shards split into micro-batches, and the position of the next batch.
  struct Next {
    UpdateBatch batch;
    Batcher::Position after;
    int64_t bytes = 0;  ///< of the parts
  };

  /// Starts at the position of `batcher` and uses it during its own lifetime. A micro-batch has at most
  /// `most_tokens` tokens; 0: shards are not split.
  BatchStream(Batcher& batcher, int64_t most_tokens, ShardRange shards = {});
  /// The memory of the batches that there are at a time, in bytes, if one takes `batch_bytes`: those that wait,
  /// the one in use, and the one that is made, while it is split.
  static int64_t bytes(int64_t batch_bytes);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// The next batch. Rethrows the exception that making it caused, if any. Called by one thread.
  Next next();
  /// The total time that `next` has waited, in seconds.
  double seconds_waited() const { return seconds_waited_; }

 private:
  Next make();
  void work();

  Batcher& batcher_;
  int64_t most_tokens_;
  ShardRange shards_;
  double seconds_waited_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Next> ready_;
  int64_t ready_bytes_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sixfold
