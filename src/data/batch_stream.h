#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "data/batcher.h"

namespace sixfold {

/// A batch of an update, divided into shards. A process of a run has some of them, in a row.
struct UpdateBatch {
  /// The shards of this process. The parts of a shard are processed one after the other, and their gradients
  /// are added. A shard without samples has no parts.
  std::vector<std::vector<Batch>> shards;
  double loss_weight = 0;  ///< of all batches of the update and all processes; the loss is divided by it
  int64_t tokens = 0;      ///< source and target tokens of all batches of the update and all processes

  /// Adds a part to one of this process's shards.
  void add(Batch part, size_t shard = 0);
};

/// Into how many shards an update's batch is divided, and which of them a process has: [begin, end).
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

  /// Starts at the position of `batcher` and uses it during its own lifetime. A micro-batch has at most
  /// `most_tokens` tokens; 0: shards are not split. If an update has several batches, each of them comes once
  /// for each shard of this process, since the gradients of a shard are added over all batches before those of
  /// the next shard. They are made twice, first to know what the loss is divided by: memory for one of them
  /// suffices.
  BatchStream(Batcher& batcher, int64_t most_tokens, ShardRange shards = {}, int batches_of_update = 1);
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
  int batches_of_update() const { return batches_of_update_; }

 private:
  /// An update of which some batches have been made.
  struct Begun {
    Batcher::Position begin, end;
    double loss_weight = 0;
    int64_t tokens = 0;
    int made = 0;  ///< number of batches that have been made, in all rounds
  };
  Next make();
  void look_ahead();
  void work();

  Batcher& batcher_;
  int64_t most_tokens_;
  ShardRange shards_;
  int batches_of_update_;
  Begun begun_;
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
  explicit Update(const UpdateBatch& only) : only_(&only) {}

  int64_t batches() const { return stream_ ? stream_->batches_of_update() : 1; }
  /// Batch number `i`, valid until the next call. They are asked for in order, again for each shard.
  const UpdateBatch& batch(int64_t i);
  double loss_weight() const { return current().loss_weight; }
  int64_t tokens() const { return current().tokens; }
  int64_t shards() const { return std::ssize(current().shards); }
  /// The position of the next update in the stream.
  Batcher::Position after() const { return next_.after; }

 private:
  const UpdateBatch& current() const { return only_ ? *only_ : next_.batch; }

  const UpdateBatch* only_ = nullptr;
  BatchStream* stream_ = nullptr;
  BatchStream::Next next_;
  int64_t at_ = 0;
};

}  // namespace sixfold
