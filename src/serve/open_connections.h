#pragma once
#include <chrono>
#include <list>
#include <mutex>
#include <optional>

namespace sixfold::serve {

/// The connections that are open. If there are too many, the one that has waited longest for a whole request
/// makes room for a new one, so that clients that send nothing, or half of a request, do not keep others out.
/// Safe to share between threads.
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
    /// What it waits for is the rest of a body, which takes memory.
    void waits_for_body();
    /// Its request has arrived whole.
    void has_request();
    /// Whether its input was ended to make room.
    bool was_ended();

   private:
    friend class OpenConnections;
    OpenConnections& all_;
    const int socket_;
    std::optional<Clock::time_point> waits_since_ = Clock::now();  // nothing: it has a request, or was ended
    bool has_body_ = false, ended_ = false;
    std::list<Open*>::iterator place_;
  };

  /// Ends the input of the connection that has waited longest. Returns false if there is none that may be
  /// ended.
  bool make_room() { return end_oldest(nullptr); }
  /// The same for those that have a part of a body, except `own`.
  bool make_room_for_body(const Open& own) { return end_oldest(&own); }

 private:
  bool end_oldest(const Open* other_than);

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;  // guards the list and what its members wait for
  std::list<Open*> all_;
};

}  // namespace sixfold::serve
