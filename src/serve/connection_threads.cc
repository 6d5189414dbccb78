#include "serve/connection_threads.h"

#include <chrono>
#include <system_error>

namespace sixfold::serve {
namespace {

thread_local bool refuses_connection = false;

}  // namespace

bool ConnectionThreads::refuses() { return refuses_connection; }

void ConnectionThreads::enqueue(std::function<void()> serve) {
  join_ended();
  ++open_;
  const std::lock_guard lock(mutex_);
  try {
    threads_.emplace_back();
    const auto place = std::prev(threads_.end());
    *place = std::thread([this, serve, place] {
      serve();
      end(place);
    });
  } catch (const std::system_error&) {  // the system refuses another thread
    threads_.pop_back();
    --open_;
    refuses_connection = true;
    serve();
    refuses_connection = false;
  }
}

void ConnectionThreads::shutdown() {
  while (open_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  join_ended();
}

void ConnectionThreads::end(Place place) {
  const std::lock_guard lock(mutex_);
  ended_.splice(ended_.end(), threads_, place);
  --open_;
}

void ConnectionThreads::join_ended() {
  std::list<std::thread> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

}  // namespace sixfold::serve
