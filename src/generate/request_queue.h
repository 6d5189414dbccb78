#pragma once
#include <deque>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/error.h"
#include "generate/decoding_statistics.h"
#include "generate/request.h"

namespace sixfold {

/// What a batch has room for.
struct BatchRoom {
  int64_t used = 0;  ///< tokens that it holds
  int64_t share = std::numeric_limits<int64_t>::max();
  std::optional<uint64_t> client = {};  ///< whose requests it takes; none: everybody's
};

/// The queue of requests to decode. Requests of one client keep their order. Clients take turns, so that a
/// client with few requests does not wait for a client with many. Safe to share between threads.
class RequestQueue {
 public:
  /// If this throws, the queue is as before.
  void push(std::unique_ptr<Request> request);

  using Requests = std::vector<std::unique_ptr<Request>>;
  /// Moves the next requests of the client, or of all clients by turns, to the end of `taken`: as many as fit
  /// into the batch and have at most `share` tokens together. An empty batch gets at least one request if any
  /// waits. A batch that is more than three quarters full gets none, because encoding few sources at a time is
  /// inefficient. Cancelled requests fail. If this throws, no request is lost.
  void take(const BatchRoom& room, Requests& taken);
  /// Fails all requests of a client with `Cancelled`.
  void withdraw(uint64_t client) noexcept;

  /// The total size in tokens of the waiting requests, of all clients or of one.
  int64_t tokens() const;
  int64_t tokens(uint64_t client) const;
  int64_t size() const;
  bool empty() const { return size() == 0; }
  /// What the batches that take their requests here have done.
  DecodingStatistics& statistics() { return statistics_; }
  const DecodingStatistics& statistics() const { return statistics_; }

 private:
  struct Client {
    uint64_t id;
    std::deque<std::unique_ptr<Request>> waiting;
    int64_t tokens = 0;
  };
  using Clients = std::list<Client>;
  void add(Client& client, std::unique_ptr<Request> request);
  void fail_cancelled(Client& client) noexcept;
  std::unique_ptr<Request> pop(Client& client) noexcept;

  const std::exception_ptr cancelled_ = std::make_exception_ptr(Cancelled());  // needs no memory later
  mutable std::mutex mutex_;
  Clients clients_;  // with waiting requests; it is the first one's turn
  int64_t tokens_ = 0, size_ = 0;
  DecodingStatistics statistics_;
};

}  // namespace sixfold
