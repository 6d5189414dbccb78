#include "runtime/request_group.h"

#include "base/error.h"
#include "runtime/poll.h"

namespace sixfold {
namespace {

// Requests that wait or are decoded at a time: so many, and with so many ids in their sources, which are large
// if they are patches of images.
constexpr size_t most_waiting = 256, most_ids = 1 << 23;

}  // namespace

/// Requests refer to the group, so that it must not return before all of them are completed.
void RequestGroup::run(const std::stop_token& cancel, const std::function<void()>& queue_all) {
  const std::stop_callback on_cancel(cancel, [this] { stop_.request_stop(); });
  try {
    queue_all();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stop_.request_stop();
  }
  if (stopped()) engine_.withdraw(client_);
  while (requested() > 0) help();
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
    ids_of_[index] = ids;
    ids_ += ids;
    ++requested_;
  }
  try {
    engine_.submit(client_, std::move(request));
  } catch (...) {
    failed(index, std::current_exception());
  }
}

void RequestGroup::help() {
  Poll::now();
  engine_.help(client_);
}

bool RequestGroup::has_room(size_t ids) {
  const std::lock_guard lock(mutex_);
  return requested_ == 0 || (requested_ < most_waiting && ids_ + ids <= most_ids);
}

size_t RequestGroup::requested() {
  const std::lock_guard lock(mutex_);
  return requested_;
}

void RequestGroup::done(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) {
  complete(index, workspace, std::move(best_first));
  const std::lock_guard lock(mutex_);
  end_one(index);
}

/// The call may end when the last request has ended.
void RequestGroup::end_one(size_t index) {
  if (const auto found = ids_of_.find(index); found != ids_of_.end()) {
    ids_ -= found->second;
    ids_of_.erase(found);
  }
  --requested_;
}

/// Keeps the first error and cancels the other requests. They fail with `Cancelled`, so the error comes first.
void RequestGroup::failed(size_t index, std::exception_ptr error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  stop_.request_stop();
  end_one(index);
}

}  // namespace sixfold
