#include "generate/request_queue.h"

#include <algorithm>

namespace sixfold {

void RequestQueue::push(std::unique_ptr<Request> request) {
  request->arrival = DecodingStatistics::Clock::now();
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(clients_.begin(), clients_.end(),
                                  [&](const Client& client) { return client.id == request->client; });
  if (known == clients_.end()) {
    Clients added;
    Client& client = added.emplace_back(Client{request->client, {}});
    add(client, std::move(request));
    clients_.splice(clients_.end(), added);
  } else {
    add(*known, std::move(request));
  }
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
  int64_t sum = 0;
  bool first = true;
  const auto fits = [&](const Request& next) {
    const int64_t used = room.used + sum;
    if (room.used > 0 && first && 4 * (next.batch_tokens - used) < next.batch_tokens) return false;
    return (used + next.tokens <= next.batch_tokens && sum + next.tokens <= room.share) || used == 0;
  };
  // Clients whose next request does not fit are passed over.
  for (auto client = clients_.begin(); client != clients_.end();) {
    const auto turn = client++;
    if (room.client && turn->id != *room.client) continue;
    fail_cancelled(*turn);
    while (!turn->waiting.empty() && fits(*turn->waiting.front())) {
      taken.emplace_back();
      taken.back() = pop(*turn);
      sum += taken.back()->tokens;
      first = false;
      if (!room.client && clients_.size() > 1) {  // the next one's turn
        clients_.splice(clients_.end(), clients_, turn);
        client = clients_.begin();
        break;
      }
    }
    if (turn->waiting.empty()) {
      if (client == turn) ++client;
      clients_.erase(turn);
    }
  }
}

void RequestQueue::withdraw(uint64_t client) noexcept {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(clients_.begin(), clients_.end(), [&](const Client& c) { return c.id == client; });
  if (known == clients_.end()) return;
  while (!known->waiting.empty()) {
    const auto request = pop(*known);
    request->sink->failed(request->index, cancelled_);
  }
  clients_.erase(known);
}

int64_t RequestQueue::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

int64_t RequestQueue::tokens(uint64_t client) const {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(clients_.begin(), clients_.end(), [&](const Client& c) { return c.id == client; });
  return known != clients_.end() ? known->tokens : 0;
}

int64_t RequestQueue::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace sixfold
