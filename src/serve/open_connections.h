#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

namespace sixfold::serve {

/// The connections that are open. If there are too many, the one that has waited longest for a whole request
/// makes room for a new one, so that clients that send nothing, or half of a request, do not keep others out.
/// If bodies take too much memory, the largest that has not arrived whole makes room in the same way. Safe to
/// share between threads.
class OpenConnections {
 public:
  using Clock = std::chrono::steady_clock;

  /// `patience`: how long a connection may wait in any case.
  explicit OpenConnections(std::chrono::milliseconds patience) : patience_(patience) {}

  /// A connection that is open while this object lives. It waits for a request at first.
  class Open {
   public:
    Open(OpenConnections& all, int socket);
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    /// From now on it waits for a request, or for the rest of one.
    void waits();
    /// It holds so many bytes of the body that it waits for.
    void holds(size_t bytes);
    /// Its request has arrived whole. Returns false if its input was ended before.
    bool has_request();
    /// Whether its input was ended to make room.
    bool was_ended() const;

   private:
    friend class OpenConnections;
    OpenConnections& all_;
    const int socket_;
    std::optional<Clock::time_point> waits_since_ = Clock::now();  // nothing: it has a request, or was ended
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

 private:
  bool end_largest_body(const Open& own);
  bool may_end(const Open& one) const;
  static void end(Open& one);

  const std::chrono::milliseconds patience_;
  std::timed_mutex ending_bodies_;
  mutable std::mutex mutex_;  // guards the list and what its members wait for
  std::list<Open*> all_;
};

}  // namespace sixfold::serve
