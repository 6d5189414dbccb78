#pragma once
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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

/// The queue of requests to decode. Requests of one client (a call) keep their order. Callers take turns, and
/// the clients of each caller, so that who has few requests or clients does not wait for who has many. Safe to
/// share between threads.
class RequestQueue {
 public:
  /// `caller`: the name of whom the request's client belongs to, always the same for a client. If this throws,
  /// the queue is as before.
  void push(std::unique_ptr<Request> request, const std::string& caller = "");

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
  struct Caller {
    std::string name;
    Clients clients;  // with waiting requests; it is the first one's turn
  };
  using Callers = std::list<Caller>;
  using Fits = std::function<bool(const Request& next)>;
  void add(Client& client, std::unique_ptr<Request> request);
  void add(Caller& caller, std::unique_ptr<Request> request);
  bool take_from(Caller& caller, std::optional<uint64_t> only, const Fits& fits, Requests& taken);
  void fail_cancelled(Client& client) noexcept;
  std::unique_ptr<Request> pop(Client& client) noexcept;

  const std::exception_ptr cancelled_ = std::make_exception_ptr(Cancelled());  // needs no memory later
  mutable std::mutex mutex_;
  Callers callers_;  // with waiting requests; it is the first one's turn
  int64_t tokens_ = 0, size_ = 0;
  DecodingStatistics statistics_;
};

}  // namespace sixfold
