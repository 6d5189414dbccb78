#include "runtime/poll.h"

#include <utility>

#include "base/error.h"

namespace sixfold {
namespace {

thread_local Poll* innermost = nullptr;

}  // namespace

Poll::Poll(std::function<void()> work) : work_(std::move(work)), outer_(std::exchange(innermost, this)) {}

Poll::~Poll() { innermost = outer_; }

void Poll::now() {
  if (innermost) innermost->work_();
}

void Poll::now(const std::stop_token& cancel) {
  now();
  if (cancel.stop_requested()) throw Cancelled();
}

}  // namespace sixfold
