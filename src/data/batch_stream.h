#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "data/batcher.h"

namespace sixfold {

/// A batch of an update, divided into shards. Each process of a run has a contiguous range of them.
struct UpdateBatch {
  /// The shards of this process. The parts of a shard are processed one after the other, and their gradients
  /// are added. A shard without samples has no parts.
  std::vector<std::vector<Batch>> shards;
  double loss_weight = 0;  ///< sum over all batches of the update and all processes; the loss is divided by it
  int64_t tokens = 0;  ///< number of source and target tokens of all batches of the update and all processes

  /// Adds a part to one of this process's shards.
  void add(Batch part, size_t shard = 0);
};

/// The number of shards into which the batch of an update is divided, and the shards of this process: [begin,
/// end).
struct ShardRange {
  int count = 1, begin = 0, end = 1;
};

/// The batches of a `Batcher`, made ahead of time by a thread, so that training does not wait for the disk. If
/// the system refuses to start the thread, each batch is made when `next` is called.
class BatchStream {
 public:
  /// A batch, its shards split into micro-batches, and the position of the next update.
  struct Next {
    UpdateBatch batch;
    Batcher::Position after;
    int64_t bytes = 0;  ///< of the parts
  };

  /// Starts at the position of `batcher`, which must outlive the stream and must not be used by others. A
  /// micro-batch has at most `max_tokens` tokens; 0: shards are not split. If an update has several batches,
  /// each batch is returned once for each shard of this process, since the gradients of one shard are added
  /// over all batches before those of the next shard. The batches are made twice: first to compute the divisor
  /// of the loss, then to be returned. So only one of them is in memory at a time.
  BatchStream(Batcher& batcher, int64_t max_tokens, ShardRange shards = {}, int batches_of_update = 1);
  /// The memory in bytes of all batches that exist at the same time, if one takes `batch_bytes`: those that
  /// wait in the queue, the one in use, and the one that is being made and split.
  static int64_t bytes(int64_t batch_bytes);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// The next batch. Rethrows the exception that making it caused, if any. Called by one thread.
  Next next();
  /// The total time that `next` has waited, in seconds.
  double seconds_waited() const { return seconds_waited_; }
  int batches_of_update() const { return batches_of_update_; }

 private:
  /// An update of which some batches have been made.
  struct StartedUpdate {
    Batcher::Position begin, end;
    double loss_weight = 0;
    int64_t tokens = 0;
    int made = 0;  ///< number of batches that have been made, in all rounds
  };
  Next make();
  void measure_next_update();
  void work();

  Batcher& batcher_;
  int64_t max_tokens_;
  ShardRange shards_;
  int batches_of_update_;
  StartedUpdate update_;
  double seconds_waited_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Next> ready_;
  int64_t ready_bytes_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

/// The batches of one update, whose gradients are added. One of them is held at a time.
class Update {
 public:
  /// The next update of a stream.
  explicit Update(BatchStream& stream);
  /// An update of one batch, which must outlive this object.
  explicit Update(const UpdateBatch& batch) : single_batch_(&batch) {}

  int64_t batches() const { return stream_ ? stream_->batches_of_update() : 1; }
  /// Batch number `i`, valid until the next call. Batches must be requested in order, and once more for each
  /// further shard.
  const UpdateBatch& batch(int64_t i);
  double loss_weight() const { return current().loss_weight; }
  int64_t tokens() const { return current().tokens; }
  int64_t shards() const { return std::ssize(current().shards); }
  /// The position of the next update in the stream.
  Batcher::Position after() const { return next_.after; }

 private:
  const UpdateBatch& current() const { return single_batch_ ? *single_batch_ : next_.batch; }

  const UpdateBatch* single_batch_ = nullptr;
  BatchStream* stream_ = nullptr;
  BatchStream::Next next_;
  int64_t batch_index_ = 0;
};

}  // namespace sixfold
