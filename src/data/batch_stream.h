#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "data/batcher.h"

namespace sixfold {

/// The batches of a `Batcher`, made ahead by a thread of its own, so that who trains does not wait for a disk.
/// Where the system refuses the thread, each batch is made when it is asked for.
class BatchStream {
 public:
  /// A batch, in the parts that it is worked through in, and where the next one begins.
  struct Next {
    std::vector<Batch> parts;
    Batcher::Position after;
  };

  /// Begins where `batcher` stands and uses it until it ends. `most_tokens` of a part; 0: batches stay whole.
  BatchStream(Batcher& batcher, int64_t most_tokens);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// Throws what went wrong in the making.
  Next next();
  /// How long `next` has waited, in all.
  double seconds_waited() const { return seconds_waited_; }

 private:
  Next make();
  void work();

  Batcher& batcher_;
  int64_t most_tokens_;
  double seconds_waited_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Next> ready_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sixfold
