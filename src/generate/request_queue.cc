#include "generate/request_queue.h"

#include <algorithm>

namespace sixfold {
namespace {

auto find(auto& clients, uint64_t id) {
  return std::find_if(clients.begin(), clients.end(), [&](const auto& client) { return client.id == id; });
}

}  // namespace

void RequestQueue::push(std::unique_ptr<Request> request, const std::string& caller) {
  request->arrival = DecodingStatistics::Clock::now();
  request->tokens = std::max<int64_t>(request->tokens, 1);  // by which those who decode see that it waits
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(callers_.begin(), callers_.end(), [&](const Caller& one) { return one.name == caller; });
  if (known != callers_.end()) return add(*known, std::move(request));
  Callers added;
  add(added.emplace_back(Caller{caller, {}}), std::move(request));
  callers_.splice(callers_.end(), added);
}

void RequestQueue::add(Caller& caller, std::unique_ptr<Request> request) {
  const auto known = find(caller.clients, request->client);
  if (known != caller.clients.end()) return add(*known, std::move(request));
  Clients added;
  Client& client = added.emplace_back(Client{request->client, {}});
  add(client, std::move(request));
  caller.clients.splice(caller.clients.end(), added);
}

void RequestQueue::add(Client& client, std::unique_ptr<Request> request) {
  const int64_t tokens = request->tokens;
  client.waiting.push_back(std::move(request));
  client.tokens += tokens;
  tokens_ += tokens;
  ++size_;
}

/// Removes and returns the client's first request. The client remains, even without requests.
std::unique_ptr<Request> RequestQueue::pop(Client& client) noexcept {
  std::unique_ptr<Request> request = std::move(client.waiting.front());
  client.waiting.pop_front();
  client.tokens -= request->tokens;
  tokens_ -= request->tokens;
  --size_;
  return request;
}

/// Usually a client cancels all its requests at once, so those before the first that goes on are looked at.
void RequestQueue::fail_cancelled(Client& client) noexcept {
  while (!client.waiting.empty() && client.waiting.front()->cancel.stop_requested()) {
    const auto request = pop(client);
    request->sink->failed(request->index, cancelled_);
  }
}

void RequestQueue::take(const BatchRoom& room, Requests& taken) {
  const std::lock_guard lock(mutex_);
  const size_t before = taken.size();
  size_t counted = before;
  int64_t sum = 0;  // of those that are taken now
  const Fits fits = [&](const Request& next) {
    for (; counted < taken.size(); ++counted) sum += taken[counted]->tokens;
    const int64_t used = room.used + sum;
    if (room.used > 0 && taken.size() == before && 4 * (next.batch_tokens - used) < next.batch_tokens)
      return false;
    return (used + next.tokens <= next.batch_tokens && sum + next.tokens <= room.share) || used == 0;
  };
  // Callers whose next requests do not fit are passed over.
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    const auto turn = caller++;
    if (take_from(*turn, room.client, fits, taken)) {  // the next one's turn
      callers_.splice(callers_.end(), callers_, turn);
      caller = callers_.begin();
    }
    if (!turn->clients.empty()) continue;
    if (caller == turn) ++caller;
    callers_.erase(turn);
  }
}

/// Takes the next request of the caller whose client's turn it is, or all that fit of the `only` client.
/// Clients whose next requests do not fit are passed over. Returns whether there may be more that fits.
bool RequestQueue::take_from(Caller& caller, std::optional<uint64_t> only, const Fits& fits, Requests& taken) {
  bool took = false;
  for (auto client = caller.clients.begin(); client != caller.clients.end() && !took;) {
    const auto turn = client++;
    if (only && turn->id != *only) continue;
    fail_cancelled(*turn);
    while (!took && !turn->waiting.empty() && fits(*turn->waiting.front())) {
      taken.emplace_back();
      taken.back() = pop(*turn);
      took = !only;
    }
    if (turn->waiting.empty())
      caller.clients.erase(turn);
    else if (took)
      caller.clients.splice(caller.clients.end(), caller.clients, turn);
  }
  return took;
}

void RequestQueue::withdraw(uint64_t client) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto caller = callers_.begin(); caller != callers_.end(); ++caller) {
    const auto known = find(caller->clients, client);
    if (known == caller->clients.end()) continue;
    while (!known->waiting.empty()) {
      const auto request = pop(*known);
      request->sink->failed(request->index, cancelled_);
    }
    caller->clients.erase(known);
    if (caller->clients.empty()) callers_.erase(caller);
    return;
  }
}

int64_t RequestQueue::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

int64_t RequestQueue::tokens(uint64_t client) const {
  const std::lock_guard lock(mutex_);
  for (const Caller& caller : callers_)
    if (const auto known = find(caller.clients, client); known != caller.clients.end()) return known->tokens;
  return 0;
}

int64_t RequestQueue::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace sixfold
