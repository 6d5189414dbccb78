#pragma once
#include <chrono>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>

namespace sixfold::serve {

/// Ends requests whose clients have hung up, or that take longer than the time limit, and closes connections
/// whose clients take the answer too slowly. Safe to share between threads.
class RequestWatch {
 public:
  using Clock = std::chrono::steady_clock;
  enum class End { none, hang_up, time_limit, server_ends };

  /// `write_time`: for a client to take its answer after the time limit.
  explicit RequestWatch(std::chrono::milliseconds write_time);

  /// A request that is watched while this object lives.
  class Watched {
   public:
    Watched(RequestWatch& watch, int socket, std::chrono::milliseconds most);
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    std::stop_token token() const { return stop_.get_token(); }
    /// Why stop was requested.
    End end() const;

   private:
    friend class RequestWatch;
    RequestWatch& watch_;
    const int socket_;
    const Clock::time_point deadline_;
    std::stop_source stop_;
    End end_ = End::none;
    std::list<Watched*>::iterator place_;
  };

  /// Ends all requests that there are.
  void end_all();
  /// Closes the connections of all requests that there are, in both directions.
  void cut_all();

 private:
  void work(const std::stop_token& stop);
  void end(Watched& watched, End why);

  const std::chrono::milliseconds write_time_;
  mutable std::mutex mutex_;  // guards `all_` and the ends of the watched
  std::list<Watched*> all_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace sixfold::serve
