#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace sixfold::serve {

/// The open connections of a server, and a thread that cancels requests and closes connections. Safe to share
/// between threads.
///
/// If there are too many connections, that which has waited longest for a complete request is evicted: its
/// input is ended. Clients that send nothing, or only a part of a request, therefore can't keep others out. If
/// bodies take too much memory, the connection with the largest incomplete body is evicted in the same way.
///
/// Requests are cancelled when their clients have hung up, or after their time limit. Connections whose clients
/// read the answer too slowly are closed.
class OpenConnections {
 public:
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  /// `min_wait`: how long a connection may wait before it can be evicted. `write_time`: how long after the time
  /// limit of a request its client may take to read the answer.
  OpenConnections(milliseconds min_wait, milliseconds write_time);

  /// Registers a connection as open during the lifetime of this object. At first the connection waits for a
  /// request.
  class Entry {
   public:
    Entry(OpenConnections& all, int socket);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    /// The connection waits for the next request.
    void set_waiting();
    /// A request has begun to arrive; it must be answered before `deadline`. Stop is requested from the
    /// returned token when the request is cancelled.
    std::stop_token begin_request(Clock::time_point deadline);
    /// Sets how many bytes of the incomplete body are in memory.
    void set_held_bytes(size_t bytes);
    /// The request has arrived completely. Returns false if the connection was evicted before. `is_http_1_1`:
    /// whether the client uses this version.
    bool complete_request(bool is_http_1_1);
    /// The answer is being written from now on.
    void begin_answer();
    /// Whether the input was ended to make room for another connection or body.
    bool was_evicted() const;

   private:
    friend class OpenConnections;
    OpenConnections& all_;
    const int socket_;
    std::optional<Clock::time_point> waiting_since_ = Clock::now();  // nothing: it has a complete request
    std::optional<Clock::time_point> deadline_;                      // nothing: no request has begun
    std::stop_source stop_;
    bool can_probe_ = false;  // whether an interim answer can be sent to detect that the client has gone
    size_t held_bytes_ = 0;
    bool evicted_ = false;
    std::list<Entry*>::iterator position_;
  };

  /// The number of connections that were not evicted.
  int count() const;
  /// Evicts the connection that has waited longest. Returns false if none can be evicted.
  bool evict_longest_waiting();
  /// Evicts connections with incomplete bodies, the largest body first, until `is_enough` returns true; then
  /// returns true without calling it again. Returns false after a second, if there is no connection to evict (a
  /// requester that could be evicted itself does not evict a smaller body), or if `requester` was evicted. Only
  /// one thread at a time evicts, so that no more connections are evicted than necessary.
  bool evict_bodies_until(const Entry& requester, const std::function<bool()>& is_enough);
  /// Cancels all requests.
  void cancel_all();
  /// Closes all connections that have a request, in both directions.
  void close_all();

 private:
  bool evict_largest_body(const Entry& requester);
  bool is_evictable(const Entry& one) const;
  static void evict(Entry& one);
  void watch(const std::stop_token& stop);
  void check_client(Entry& one) const;

  const milliseconds min_wait_, write_time_;
  std::mutex evicting_bodies_;
  mutable std::mutex mutex_;  // guards the list and its members; while it is held, no socket is closed
  std::list<Entry*> all_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace sixfold::serve
