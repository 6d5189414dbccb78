#include "runtime/running_batch.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace sixfold {

RunningBatch::RunningBatch(DecodeWorkspace workspace, RequestQueue& queue)
    : workspace_(std::move(workspace)), queue_(queue) {}

void RunningBatch::use_threads(ThreadPool* pool) noexcept {
  try {
    workspace_.backend->use_threads(pool);
  } catch (...) {
    workspace_.backend->use_threads(nullptr);  // needs no further scratch memory
  }
}

bool RunningBatch::step(const BatchRoom& limits) {
  try {
    cancel();
    admit(limits);
    if (active_.empty()) return false;
    advance();
    count_step();
    show_settled();
    retire();
    free_memory();
  } catch (...) {
    fail_all(std::current_exception());
  }
  return !active_.empty();
}

int RunningBatch::free_number() {
  if (free_numbers_.empty()) return numbers_++;
  const int number = free_numbers_.back();
  free_numbers_.pop_back();
  return number;
}

void RunningBatch::cancel() {
  for (Active& active : active_) {
    if (!active.request->cancel.stop_requested()) continue;
    fail(active, std::make_exception_ptr(Cancelled()));
  }
  std::erase_if(active_, [](const Active& active) { return !active.request; });
}

void RunningBatch::admit(BatchRoom room) {
  room.used = room.used_by_long = 0;
  for (const Active& active : active_) room.add(*active.request);
  queue_.take(room, entering_);
  if (entering_.empty()) return;
  if (!scorer_) scorer_ = make_scorer(workspace_);
  active_.reserve(active_.size() + entering_.size());
  try {
    enter(entering_);
  } catch (...) {  // only some of them may cause the error: each enters on its own
    for (auto& request : entering_) {
      try {
        enter({&request, 1});
      } catch (...) {
        fail(*std::exchange(request, nullptr), std::current_exception());
      }
    }
  }
  entering_.clear();
}

/// Encodes the sources and makes the requests active. If it throws, nothing has changed.
void RunningBatch::enter(std::span<std::unique_ptr<Request>> requests) {
  std::vector<std::span<const int32_t>> shortlists;
  IdBatch sources{.ids_per_row = workspace_.model.config().source_ids_per_row()};
  for (const auto& request : requests) {
    shortlists.push_back(request->shortlist);
    sources.add(request->source);
  }
  std::vector<int> numbers;
  numbers.reserve(requests.size());
  free_numbers_.reserve(static_cast<size_t>(numbers_) + requests.size());  // for all that will be free again
  for (size_t i = 0; i < requests.size(); ++i) numbers.push_back(free_number());
  try {
    scorer_->enter(numbers, sources, shortlists);
  } catch (...) {
    free_numbers_.insert(free_numbers_.end(), numbers.begin(), numbers.end());
    throw;
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& request = *requests[i];
    queue_.statistics().entered(request.arrival, request.read_tokens);
    active_.push_back({numbers[i], std::move(requests[i])});
  }
}

void RunningBatch::advance() {
  extensions_.clear(), queries_.clear(), begins_.clear();
  for (const Active& active : active_) {
    begins_.push_back(queries_.size());
    active.request->strategy->share_step(active_.size());
    active.request->strategy->ask(active.number, extensions_, queries_);
  }
  begins_.push_back(queries_.size());
  const std::span<const Answer> answers = scorer_->score(extensions_, queries_);
  for (size_t i = 0; i < active_.size(); ++i)
    active_[i].request->strategy->advance(answers.subspan(begins_[i], begins_[i + 1] - begins_[i]));
}

void RunningBatch::count_step() {
  int64_t tokens = 0;
  for (Active& active : active_) {
    tokens += active.request->tokens;
    if (!std::exchange(active.stepped, true)) queue_.statistics().first_step(active.request->arrival);
  }
  const int64_t room = std::max<int64_t>(active_.front().request->batch_tokens, 1);
  queue_.statistics().step(static_cast<double>(tokens) / static_cast<double>(room));
}

/// Passes the settled tokens to the sinks. If a sink throws, only its request fails.
void RunningBatch::show_settled() {
  for (Active& active : active_) {
    const auto tokens = active.request->strategy->settled();
    if (tokens.empty()) continue;
    try {
      active.request->sink->settled(active.request->index, tokens);
    } catch (...) {
      fail(active, std::current_exception());
    }
  }
  std::erase_if(active_, [](const Active& active) { return !active.request; });
}

void RunningBatch::retire() {
  for (Active& active : active_)
    if (active.request->strategy->done()) finish(active);
  std::erase_if(active_, [](const Active& active) { return !active.request; });
}

void RunningBatch::finish(Active& active) {
  scorer_->leave(active.number);
  free_numbers_.push_back(active.number);
  const std::unique_ptr<Request> request = std::move(active.request);
  std::vector<Hypothesis> best;
  std::exception_ptr error;
  try {
    best = request->strategy->take_best();
    require(!best.empty(), "the probabilities that the model computes are NaN; its weights must be damaged");
  } catch (...) {
    error = std::current_exception();
  }
  // Before the sink is called, so that the statistics include each request whose result is known.
  queue_.statistics().left(request->arrival, error ? 0 : std::ssize(best.front().ids));
  try {
    if (error) std::rethrow_exception(error);
    request->sink->done(request->index, workspace_, std::move(best));
    note_end(*request);
  } catch (...) {
    fail(*request, std::current_exception());
  }
}

/// Fails a request that is being decoded; the others go on.
void RunningBatch::fail(Active& active, const std::exception_ptr& error) noexcept {
  scorer_->leave(active.number);
  free_numbers_.push_back(active.number);
  const std::unique_ptr<Request> request = std::move(active.request);
  queue_.statistics().left(request->arrival, 0);
  fail(*request, error);
}

void RunningBatch::fail(Request& request, const std::exception_ptr& error) noexcept {
  request.sink->failed(request.index, error);
  note_end(request);
}

void RunningBatch::note_end(const Request& request) noexcept {
  try {
    ended_.push_back(request.call);
  } catch (const std::bad_alloc&) {  // the call notices the end when its wait times out
  }
}

/// After an error the decoding state is not usable. A new one is made when it is needed.
void RunningBatch::fail_all(const std::exception_ptr& error) noexcept {
  for (const Active& active : active_) {
    if (!active.request) continue;
    queue_.statistics().left(active.request->arrival, 0);
    fail(*active.request, error);
  }
  for (const auto& request : entering_)
    if (request) fail(*request, error);
  active_.clear();
  entering_.clear();
  free_scorer();
}

/// An empty batch keeps the decoding state for the next requests, unless it has grown large.
void RunningBatch::free_memory() {
  constexpr int64_t max_rows = 16384;
  if (active_.empty() && scorer_ && scorer_->rows() > max_rows) free_scorer();
}

void RunningBatch::free_scorer() noexcept {
  scorer_.reset();
  free_numbers_.clear();
  numbers_ = 0;
}

}  // namespace sixfold
