#include "runtime/request_queue.h"

#include <algorithm>

namespace sixfold {
namespace {

auto find(auto& calls, uint64_t id) {
  return std::find_if(calls.begin(), calls.end(), [&](const auto& call) { return call.id == id; });
}

/// The number of tokens of a batch that long requests leave to short ones.
int64_t kept_for_short(int64_t batch_tokens) { return batch_tokens / 4; }
bool is_long(const Request& request) { return request.tokens > kept_for_short(request.batch_tokens); }
/// The number of tokens that a request counts as in a batch. A long one leaves room for short ones, however
/// long it is.
int64_t size_in_batch(const Request& request) {
  return std::min(request.tokens, request.batch_tokens - kept_for_short(request.batch_tokens));
}

}  // namespace

void BatchRoom::add(const Request& request) {
  (is_long(request) ? used_by_long : used) += size_in_batch(request);
}

/// Decides which requests a batch may still take.
class RequestQueue::Admission {
 public:
  explicit Admission(const BatchRoom& room) : room_(room) {}

  bool fits(const Request& next) {
    const int64_t size = size_in_batch(next), batch = next.batch_tokens, used = room_.used + room_.used_by_long;
    if (used == 0) return true;
    if (taken_tokens_ + next.tokens > room_.share) return false;
    if (is_long(next)) {
      if (reserved_ == 0 && used + size <= batch) return true;
      reserved_ = std::max(reserved_, size);
      return false;
    }
    const int64_t limit = std::max(batch - std::max(room_.used_by_long, reserved_), kept_for_short(batch));
    const bool nearly_full = taken_tokens_ == 0 && 4 * (limit - room_.used) < limit;
    return !nearly_full && room_.used + size <= limit;
  }
  void add(const Request& request) {
    room_.add(request);
    taken_tokens_ += request.tokens;
  }

 private:
  BatchRoom room_;
  int64_t taken_tokens_ = 0;
  int64_t reserved_ = 0;  // for a long request that was passed over
};

/// Adds the only member of the list `one`, which is empty then. It counts as if it had waited from the
/// beginning.
template <class Member>
void RequestQueue::FairOrder<Member>::add(std::list<Member>& one) {
  one.front().served = std::max(one.front().served, virtual_time);
  insert(one, one.begin());
}

/// Moves a member from a list to its place in the order, behind those that have been served as much.
template <class Member>
void RequestQueue::FairOrder<Member>::insert(std::list<Member>& from,
                                             typename std::list<Member>::iterator member) {
  auto place = members.end();
  while (place != members.begin() && std::prev(place)->served > member->served) --place;
  members.splice(place, from, member);
}

/// Counts tokens that are served to a member while so many members wait, itself included.
template <class Member>
void RequestQueue::FairOrder<Member>::serve(typename std::list<Member>::iterator member, int64_t tokens,
                                            int64_t waiting_members) {
  virtual_time += static_cast<double>(tokens) / static_cast<double>(waiting_members);
  member->served += static_cast<double>(tokens);
  insert(members, member);
}

void RequestQueue::push(std::unique_ptr<Request> request, const std::string& client) {
  request->arrival = DecodingStatistics::Clock::now();
  request->tokens = std::max<int64_t>(request->tokens, 1);  // `tokens()` is 0 only if no request waits
  const std::lock_guard lock(mutex_);
  std::list<Client> one;
  const auto known = std::ranges::find(clients_.members, client, &Client::name);
  if (known == clients_.members.end())
    one.push_back({client});
  else if (known->calls.members.empty())
    one.splice(one.end(), clients_.members, known);
  else
    return add(*known, std::move(request));
  add(one.front(), std::move(request));
  clients_.add(one);
}

void RequestQueue::add(Client& client, std::unique_ptr<Request> request) {
  const auto known = find(client.calls.members, request->call);
  if (known != client.calls.members.end()) return add(*known, std::move(request));
  std::list<Call> one;
  one.push_back({request->call});
  add(one.front(), std::move(request));
  client.calls.add(one);
}

void RequestQueue::add(Call& call, std::unique_ptr<Request> request) {
  const int64_t tokens = request->tokens;
  call.waiting.push_back(std::move(request));
  call.tokens += tokens;
  tokens_ += tokens;
  ++size_;
}

/// Removes and returns the call's first request. The call remains, even without requests.
std::unique_ptr<Request> RequestQueue::pop(Call& call) noexcept {
  std::unique_ptr<Request> request = std::move(call.waiting.front());
  call.waiting.pop_front();
  call.tokens -= request->tokens;
  tokens_ -= request->tokens;
  --size_;
  return request;
}

/// Fails the call's first requests that are cancelled, up to one that is not: usually a call cancels all its
/// requests at once.
void RequestQueue::fail_cancelled(Call& call) noexcept {
  while (!call.waiting.empty() && call.waiting.front()->cancel.stop_requested()) {
    const auto request = pop(call);
    request->sink->failed(request->index, cancelled_);
  }
}

void RequestQueue::take(const BatchRoom& room, Requests& requests) {
  const std::lock_guard lock(mutex_);
  Admission admission(room);
  while (take_one(room.call, admission, requests)) {
  }
  forget_idle_clients();
}

/// Takes the first request that fits, in the fair order; with `only`, of this call. Returns whether there was
/// one.
bool RequestQueue::take_one(std::optional<uint64_t> only, Admission& admission, Requests& requests) {
  for (auto client = clients_.members.begin(); client != clients_.members.end(); ++client) {
    std::list<Call>& calls = client->calls.members;
    for (auto next = calls.begin(); next != calls.end();) {
      const auto call = next++;
      if (only && call->id != *only) continue;
      fail_cancelled(*call);
      if (call->waiting.empty())
        calls.erase(call);
      else if (admission.fits(*call->waiting.front())) {
        requests.emplace_back();
        requests.back() = pop(*call);
        admission.add(*requests.back());
        client->calls.serve(call, requests.back()->tokens, std::ssize(calls));
        const auto waiting_clients = std::ranges::count_if(
            clients_.members, [](const Client& one) { return !one.calls.members.empty(); });
        clients_.serve(client, requests.back()->tokens, waiting_clients);
        if (call->waiting.empty()) calls.erase(call);
        return true;
      }
    }
  }
  return false;
}

/// Removes clients without waiting requests. Those that were served more than others are kept, so that they do
/// not gain by coming back as newcomers, until no request of any client waits.
void RequestQueue::forget_idle_clients() noexcept {
  std::erase_if(clients_.members, [&](const Client& client) {
    return client.calls.members.empty() && (size_ == 0 || client.served <= clients_.virtual_time);
  });
}

void RequestQueue::withdraw(uint64_t call) noexcept {
  const std::lock_guard lock(mutex_);
  for (Client& client : clients_.members) {
    const auto known = find(client.calls.members, call);
    if (known == client.calls.members.end()) continue;
    while (!known->waiting.empty()) {
      const auto request = pop(*known);
      request->sink->failed(request->index, cancelled_);
    }
    client.calls.members.erase(known);
    break;
  }
  forget_idle_clients();
}

int64_t RequestQueue::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

int64_t RequestQueue::tokens(uint64_t call) const {
  const std::lock_guard lock(mutex_);
  for (const Client& client : clients_.members) {
    const auto known = find(client.calls.members, call);
    if (known != client.calls.members.end()) return known->tokens;
  }
  return 0;
}

int64_t RequestQueue::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace sixfold
