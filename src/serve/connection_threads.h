#pragma once
#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "serve/http_library.h"

namespace sixfold::serve {

/// Gives each connection a thread. What serves a connection is told by `refuses` if there is none for it.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  /// `open`: the number of connections that have a thread.
  explicit ConnectionThreads(std::atomic<int>& open) : open_(open) {}
  ~ConnectionThreads() override { join_ended(); }

  /// Whether the calling thread shall refuse its connection, since the system refuses another thread.
  static bool refuses();

  void enqueue(std::function<void()> serve) override;
  void shutdown() override;

 private:
  using Place = std::list<std::thread>::iterator;
  void end(Place place);
  void join_ended();

  std::atomic<int>& open_;
  std::mutex mutex_;  // guards the members below
  std::list<std::thread> threads_, ended_;
};

}  // namespace sixfold::serve
