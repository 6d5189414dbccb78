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

/// The connections that are open, and what ends them besides their own threads. Safe to share between threads.
///
/// If there are too many, the one that has waited longest for a whole request makes room for a new one, so that
/// clients that send nothing, or half of a request, do not keep others out. If bodies take too much memory, the
/// largest that has not arrived whole makes room in the same way.
///
/// Requests are cancelled when their clients have hung up, or when their time is over; connections whose
/// clients take the answer too slowly are closed.
class OpenConnections {
 public:
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  /// `patience`: how long a connection may wait in any case. `write_time`: for a client to take its answer
  /// after the time of its request.
  OpenConnections(milliseconds patience, milliseconds write_time);

  /// A connection that is open while this object lives. It waits for a request at first.
  class Open {
   public:
    Open(OpenConnections& all, int socket);
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    /// From now on it waits for a request to begin.
    void waits();
    /// A request has begun to arrive, which must be answered before `until`. Returns what cancels it.
    std::stop_token begins(Clock::time_point until);
    /// It holds so many bytes of the body that it waits for.
    void holds(size_t bytes);
    /// Its request has arrived whole. Returns false if its input was ended before. `is_http_1_1`: the version
    /// that the client speaks.
    bool has_request(bool is_http_1_1);
    /// From now on the answer is written.
    void answers();
    /// Whether its input was ended to make room.
    bool was_ended() const;

   private:
    friend class OpenConnections;
    OpenConnections& all_;
    const int socket_;
    std::optional<Clock::time_point> waits_since_ = Clock::now();  // nothing: it has a request
    std::optional<Clock::time_point> answered_until_;              // nothing: no request has begun
    std::stop_source stop_;
    bool may_be_asked_ = false;  // whether the client still listens
    size_t held_ = 0;
    bool ended_ = false;
    std::list<Open*>::iterator place_;
  };

  /// The number of those that were not ended.
  int count() const;
  /// Ends the input of the connection that has waited longest. Returns false if there is none that may be
  /// ended.
  bool make_room();
  /// Ends the input of connections that hold parts of bodies, that with the most bytes first, until `enough`
  /// returns true, which it does once: then so does this function. Gives up after a second, if there is no
  /// other that may be ended and holds as much as `own`, and if `own` was ended itself. One thread at a time
  /// ends bodies, so that no more end than must.
  bool make_room_for_body(const Open& own, const std::function<bool()>& enough);
  /// Cancels all requests that there are.
  void cancel_all();
  /// Closes all connections that have a request, in both directions.
  void cut_all();

 private:
  bool end_largest_body(const Open& own);
  bool may_end(const Open& one) const;
  static void end(Open& one);
  void watch(const std::stop_token& stop);
  void watch(Open& one) const;

  const milliseconds patience_, write_time_;
  std::timed_mutex ending_bodies_;
  mutable std::mutex mutex_;  // guards the list and its members; while it is held, no socket is closed
  std::list<Open*> all_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace sixfold::serve
