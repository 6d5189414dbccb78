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

/// What a batch holds and may take.
struct BatchRoom {
  int64_t used = 0;          ///< tokens of its short requests
  int64_t used_by_long = 0;  ///< of its long ones, each counted as three quarters of a batch at most
  int64_t share = std::numeric_limits<int64_t>::max();
  std::optional<uint64_t> client = {};  ///< whose requests it takes; none: everybody's

  /// Counts a request that the batch holds.
  void add(const Request& request);
};

/// The queue of requests to decode. Requests of one client (a call) keep their order. It is the turn of the
/// caller that has been given the fewest tokens, and among its clients that of the one that has been given the
/// fewest, so that who asks for little does not wait for who asks for much. Who comes newly begins with what
/// one that had waited all the time would have been given by now (fair queueing: Demers, Keshav and Shenker,
/// 1989), so that nobody waits for newcomers without end. Safe to share between threads.
class RequestQueue {
 public:
  /// `caller`: the name of whom the request's client belongs to, always the same for a client. If this throws,
  /// the queue is as before.
  void push(std::unique_ptr<Request> request, const std::string& caller = "");

  using Requests = std::vector<std::unique_ptr<Request>>;
  /// Moves the next requests of the client, or of all clients by turns, to the end of `taken`: as many as fit
  /// into the batch and have at most `share` tokens together. An empty batch gets at least one request if any
  /// waits. One that does not fit is passed over, but neither kind waits for the other without end: long
  /// requests, of more than a quarter of a batch, leave this quarter to short ones; and while a long one waits
  /// whose turn it is, short ones leave it the room that it needs. Short ones get nothing in the last quarter
  /// of their room, because encoding few sources at a time is inefficient. Cancelled requests fail. If this
  /// throws, no request is lost.
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
    double given = 0;  // tokens, and the even share of others when it came
    std::deque<std::unique_ptr<Request>> waiting = {};
    int64_t tokens = 0;
  };
  template <class Member>
  struct Turns {
    std::list<Member> members = {};  // in the order of `given`; it is the first one's turn
    double even_share = 0;           // of all tokens that were given, of a member that always waited
    void add(std::list<Member>& one);
    void move_to_its_place(std::list<Member>& from, typename std::list<Member>::iterator member);
    void give(typename std::list<Member>::iterator member, int64_t tokens, int64_t waiting);
  };
  struct Caller {
    std::string name;
    double given = 0;
    Turns<Client> clients = {};  // with waiting requests
  };
  class Admission;
  void add(Client& client, std::unique_ptr<Request> request);
  void add(Caller& caller, std::unique_ptr<Request> request);
  bool take_one(std::optional<uint64_t> only, Admission& admission, Requests& taken);
  void fail_cancelled(Client& client) noexcept;
  void forget_idle_callers() noexcept;
  std::unique_ptr<Request> pop(Client& client) noexcept;

  const std::exception_ptr cancelled_ = std::make_exception_ptr(Cancelled());  // needs no memory later
  mutable std::mutex mutex_;
  Turns<Caller> callers_;  // also those without waiting requests that have been given more than others
  int64_t tokens_ = 0, size_ = 0;
  DecodingStatistics statistics_;
};

}  // namespace sixfold
