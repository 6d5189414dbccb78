#include "runtime/request_queue.h"

#include <algorithm>

namespace sixfold {
namespace {

auto find(auto& clients, uint64_t id) {
  return std::find_if(clients.begin(), clients.end(), [&](const auto& client) { return client.id == id; });
}

/// What short requests have room for beside long ones, of a batch of so many tokens.
int64_t kept_for_short(int64_t batch_tokens) { return batch_tokens / 4; }
bool is_long(const Request& request) { return request.tokens > kept_for_short(request.batch_tokens); }
/// The room that a request takes. Long ones leave some to short ones, whatever their length.
int64_t size_in_batch(const Request& request) {
  return std::min(request.tokens, request.batch_tokens - kept_for_short(request.batch_tokens));
}

}  // namespace

void BatchRoom::add(const Request& request) {
  (is_long(request) ? used_by_long : used) += size_in_batch(request);
}

/// What may still be taken for a batch.
class RequestQueue::Admission {
 public:
  explicit Admission(const BatchRoom& room) : room_(room) {}

  bool fits(const Request& next) {
    const int64_t size = size_in_batch(next), batch = next.batch_tokens, used = room_.used + room_.used_by_long;
    if (used == 0) return true;
    if (taken_ + next.tokens > room_.share) return false;
    if (is_long(next)) {
      if (reserved_ == 0 && used + size <= batch) return true;
      reserved_ = std::max(reserved_, size);
      return false;
    }
    const int64_t limit = std::max(batch - std::max(room_.used_by_long, reserved_), kept_for_short(batch));
    const bool nearly_full = taken_ == 0 && 4 * (limit - room_.used) < limit;
    return !nearly_full && room_.used + size <= limit;
  }
  void add(const Request& request) {
    room_.add(request);
    taken_ += request.tokens;
  }

 private:
  BatchRoom room_;
  int64_t taken_ = 0;     // tokens
  int64_t reserved_ = 0;  // for a long request that was passed over
};

/// Adds the only member of `one`.
template <class Member>
void RequestQueue::Turns<Member>::add(std::list<Member>& one) {
  one.front().given = std::max(one.front().given, even_share);
  move_to_its_place(one, one.begin());
}

/// Its place is behind those that have been given as much.
template <class Member>
void RequestQueue::Turns<Member>::move_to_its_place(std::list<Member>& from,
                                                    typename std::list<Member>::iterator member) {
  auto place = members.end();
  while (place != members.begin() && std::prev(place)->given > member->given) --place;
  members.splice(place, from, member);
}

template <class Member>
void RequestQueue::Turns<Member>::give(typename std::list<Member>::iterator member, int64_t tokens,
                                       int64_t waiting) {
  even_share += static_cast<double>(tokens) / static_cast<double>(waiting);
  member->given += static_cast<double>(tokens);
  move_to_its_place(members, member);
}

void RequestQueue::push(std::unique_ptr<Request> request, const std::string& caller) {
  request->arrival = DecodingStatistics::Clock::now();
  request->tokens = std::max<int64_t>(request->tokens, 1);  // by which those who decode see that it waits
  const std::lock_guard lock(mutex_);
  std::list<Caller> one;
  const auto known = std::ranges::find(callers_.members, caller, &Caller::name);
  if (known == callers_.members.end())
    one.push_back({caller});
  else if (known->clients.members.empty())
    one.splice(one.end(), callers_.members, known);
  else
    return add(*known, std::move(request));
  add(one.front(), std::move(request));
  callers_.add(one);
}

void RequestQueue::add(Caller& caller, std::unique_ptr<Request> request) {
  const auto known = find(caller.clients.members, request->client);
  if (known != caller.clients.members.end()) return add(*known, std::move(request));
  std::list<Client> one;
  one.push_back({request->client});
  add(one.front(), std::move(request));
  caller.clients.add(one);
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
  Admission admission(room);
  while (take_one(room.client, admission, taken)) {
  }
  forget_idle_callers();
}

/// Takes the first request, in the order of turns, that fits. Returns whether there was one.
bool RequestQueue::take_one(std::optional<uint64_t> only, Admission& admission, Requests& taken) {
  for (auto caller = callers_.members.begin(); caller != callers_.members.end(); ++caller) {
    std::list<Client>& clients = caller->clients.members;
    for (auto next = clients.begin(); next != clients.end();) {
      const auto client = next++;
      if (only && client->id != *only) continue;
      fail_cancelled(*client);
      if (client->waiting.empty())
        clients.erase(client);
      else if (admission.fits(*client->waiting.front())) {
        taken.emplace_back();
        taken.back() = pop(*client);
        admission.add(*taken.back());
        caller->clients.give(client, taken.back()->tokens, std::ssize(clients));
        const auto waiting = std::ranges::count_if(
            callers_.members, [](const Caller& one) { return !one.clients.members.empty(); });
        callers_.give(caller, taken.back()->tokens, waiting);
        if (client->waiting.empty()) clients.erase(client);
        return true;
      }
    }
  }
  return false;
}

/// Those that have been given more than others are remembered, since they may come back, but not beyond the
/// time when nobody waits.
void RequestQueue::forget_idle_callers() noexcept {
  std::erase_if(callers_.members, [&](const Caller& caller) {
    return caller.clients.members.empty() && (size_ == 0 || caller.given <= callers_.even_share);
  });
}

void RequestQueue::withdraw(uint64_t client) noexcept {
  const std::lock_guard lock(mutex_);
  for (Caller& caller : callers_.members) {
    const auto known = find(caller.clients.members, client);
    if (known == caller.clients.members.end()) continue;
    while (!known->waiting.empty()) {
      const auto request = pop(*known);
      request->sink->failed(request->index, cancelled_);
    }
    caller.clients.members.erase(known);
    break;
  }
  forget_idle_callers();
}

int64_t RequestQueue::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

int64_t RequestQueue::tokens(uint64_t client) const {
  const std::lock_guard lock(mutex_);
  for (const Caller& caller : callers_.members) {
    const auto known = find(caller.clients.members, client);
    if (known != caller.clients.members.end()) return known->tokens;
  }
  return 0;
}

int64_t RequestQueue::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace sixfold
