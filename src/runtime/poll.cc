#include "runtime/poll.h"

#include <utility>

namespace sixfold {
namespace {

thread_local Poll* innermost = nullptr;

}  // namespace

Poll::Poll(std::function<void()> work) : work_(std::move(work)), outer_(std::exchange(innermost, this)) {}

Poll::~Poll() { innermost = outer_; }

void Poll::now() {
  if (innermost) innermost->work_();
}

}  // namespace sixfold
