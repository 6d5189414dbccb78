#include "runtime/request_group.h"

#include "base/error.h"
#include "runtime/poll.h"

namespace sixfold {
namespace {

// Limits of the requests of a call that are not complete: their number, and the number of ids of their sources,
// which is large if the sources are images.
constexpr size_t max_pending = 256, max_pending_ids = 1 << 23;

}  // namespace

/// Requests refer to the group. Therefore it does not return before all of them are complete.
void RequestGroup::run(const std::stop_token& cancel, const std::function<void()>& queue_all) {
  const std::stop_callback on_cancel(cancel, [this] { stop_.request_stop(); });
  try {
    queue_all();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stop_.request_stop();
  }
  if (stopped()) engine_.withdraw(call_);
  while (pending() > 0) help();
  if (error_) std::rethrow_exception(error_);
  if (cancel.stop_requested()) throw Cancelled();
}

void RequestGroup::queue(std::unique_ptr<Request> request, size_t index) {
  while (!has_room(request->source.size())) help();
  submit(std::move(request), index);
}

void RequestGroup::submit(std::unique_ptr<Request> request, size_t index) {
  const size_t ids = request->source.size();
  request->cancel = stop_.get_token();
  request->sink = this;
  request->index = index;
  {
    const std::lock_guard lock(mutex_);
    ids_of_request_[index] = ids;
    pending_ids_ += ids;
    ++pending_;
  }
  try {
    engine_.submit(call_, std::move(request));
  } catch (...) {
    failed(index, std::current_exception());
  }
}

void RequestGroup::help() {
  Poll::now();
  engine_.help(call_);
}

bool RequestGroup::has_room(size_t ids) {
  const std::lock_guard lock(mutex_);
  return pending_ == 0 || (pending_ < max_pending && pending_ids_ + ids <= max_pending_ids);
}

size_t RequestGroup::pending() {
  const std::lock_guard lock(mutex_);
  return pending_;
}

void RequestGroup::done(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) {
  complete(index, workspace, std::move(best_first));
  const std::lock_guard lock(mutex_);
  remove_pending(index);
}

/// When the last request has been removed, the calling thread may destroy the group.
void RequestGroup::remove_pending(size_t index) {
  if (const auto found = ids_of_request_.find(index); found != ids_of_request_.end()) {
    pending_ids_ -= found->second;
    ids_of_request_.erase(found);
  }
  --pending_;
}

/// Keeps the first error and cancels the other requests. They fail with `Cancelled`, so the error comes first.
void RequestGroup::failed(size_t index, std::exception_ptr error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  stop_.request_stop();
  remove_pending(index);
}

}  // namespace sixfold
