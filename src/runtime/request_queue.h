#pragma once
#include <deque>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/decoding_statistics.h"
#include "runtime/request.h"

namespace sixfold {

/// What a batch holds, and what it may take from the queue.
struct BatchRoom {
  int64_t used = 0;          ///< tokens of its short requests
  int64_t used_by_long = 0;  ///< of its long ones, each counted as three quarters of a batch at most
  int64_t share = std::numeric_limits<int64_t>::max();  ///< maximum number of tokens that it takes in one step
  std::optional<uint64_t> call = {};  ///< the call whose requests it takes; none: requests of all calls

  /// Counts a request that the batch holds.
  void add(const Request& request);
};

/// The queue of requests to decode. The words:
/// - A request is one source to decode.
/// - A call is one call of a predictor (`Request::call` has its number). It has any number of requests.
/// - A client is who makes calls: for a server, the owner of an API key or the address that HTTP requests come
///   from. It has a name, and any number of calls.
///
/// The queue is fair (Demers, Keshav and Shenker 1989, "Analysis and simulation of a fair queueing algorithm").
/// The next request is one of the client that has been served the fewest tokens, and among the calls of this
/// client, of the one that has been served the fewest. So a client with little work does not wait for one with
/// much. A newcomer starts with the number of tokens that it would have been served if it had waited from the
/// beginning, so that the others do not wait for newcomers forever. Requests of one call keep their order. Safe
/// to share between threads.
class RequestQueue {
 public:
  /// `client`: the name of the client that made the call of the request; it is the same for all requests of a
  /// call. If this throws, the queue is unchanged.
  void push(std::unique_ptr<Request> request, const std::string& client = "");

  using Requests = std::vector<std::unique_ptr<Request>>;
  /// Appends to `requests` the next requests of `room.call`, or of all calls in turn, and removes them from the
  /// queue: as many as fit into the batch and have at most `room.share` tokens together. An empty batch gets at
  /// least one request if any waits. A request that does not fit is passed over, but neither long nor short
  /// requests wait for the other kind forever: long requests, of more than a quarter of a batch, leave this
  /// quarter to short ones; and while the next request is a long one that does not fit, short ones leave it the
  /// room that it needs. A batch takes no short requests when less than a quarter of their room is free,
  /// because encoding few sources at a time is inefficient. Cancelled requests fail. If this throws, no request
  /// is lost.
  void take(const BatchRoom& room, Requests& requests);
  /// Fails all waiting requests of a call with `Cancelled`.
  void withdraw(uint64_t call) noexcept;

  /// The total size in tokens of the waiting requests, of all calls or of one.
  int64_t tokens() const;
  int64_t tokens(uint64_t call) const;
  int64_t size() const;
  bool empty() const { return size() == 0; }
  /// The statistics of the batches that take their requests from this queue.
  DecodingStatistics& statistics() { return statistics_; }
  const DecodingStatistics& statistics() const { return statistics_; }

 private:
  struct Call {
    uint64_t id;
    double served = 0;  // tokens of its requests that were taken, plus the virtual time when it was added
    std::deque<std::unique_ptr<Request>> waiting = {};
    int64_t tokens = 0;  // of the waiting requests
  };
  /// Members (calls or clients) in the order in which they are served.
  template <class Member>
  struct FairOrder {
    std::list<Member> members = {};  // ascending by `served`: the first one is the next to be served
    double virtual_time = 0;         // tokens served by now to a member that has waited from the beginning
    void add(std::list<Member>& one);
    void insert(std::list<Member>& from, typename std::list<Member>::iterator member);
    void serve(typename std::list<Member>::iterator member, int64_t tokens, int64_t waiting_members);
  };
  struct Client {
    std::string name;
    double served = 0;           // as `Call::served`
    FairOrder<Call> calls = {};  // those with waiting requests
  };
  class Admission;
  void add(Call& call, std::unique_ptr<Request> request);
  void add(Client& client, std::unique_ptr<Request> request);
  bool take_one(std::optional<uint64_t> only, Admission& admission, Requests& requests);
  void fail_cancelled(Call& call) noexcept;
  void forget_idle_clients() noexcept;
  std::unique_ptr<Request> pop(Call& call) noexcept;

  // Made here, so that failing a request allocates no memory.
  const std::exception_ptr cancelled_ = std::make_exception_ptr(Cancelled());
  mutable std::mutex mutex_;
  FairOrder<Client> clients_;  // also those without waiting requests that were served more than others
  int64_t tokens_ = 0, size_ = 0;
  DecodingStatistics statistics_;
};

}  // namespace sixfold
