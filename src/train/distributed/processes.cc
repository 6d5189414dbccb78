#include "train/distributed/processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "train/distributed/watchdog.h"

namespace sixfold {
namespace {

enum Kind : int32_t { alive, failed, left, ask_for_ticket, ticket };

constexpr double max_seconds_to_leave = 5;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

/// A message.
struct Processes::Entry {
  int peer = 0;
  bool sends = false;
  Buffer buffer;
  size_t bytes = 0;
  Transport::Operation operation = 0;
  bool done = false;
};

/// A control message between processes.
struct Processes::Control {
  int32_t kind = alive;
  int32_t status = 1;    ///< exit status of a process that failed
  char text[1016] = {};  ///< of a failure
};

/// The state of another process.
struct Processes::Peer {
  Control incoming, outgoing;
  Transport::Operation receiving = 0;
  std::optional<Transport::Operation> sending;
  std::deque<Control> to_send;
  Clock::time_point heard;
  bool failed = false, left = false;
};

Processes::Processes(Transport& transport, double timeout_seconds)
    : transport_(&transport), rank_(transport.rank()), size_(transport.size()), timeout_(timeout_seconds) {
  hosts_.assign(static_cast<size_t>(size_), "");
  last_alive_sent_ = last_iteration_ = Clock::now();
  for (int rank = 0; rank < size_; ++rank) {
    auto& peer = peers_.emplace_back(rank == rank_ ? nullptr : std::make_unique<Peer>());
    if (!peer) continue;
    peer->heard = Clock::now();
    peer->receiving = transport_->receive(rank, Transport::Channel::control,
                                          {reinterpret_cast<std::byte*>(&peer->incoming), sizeof(Control)});
  }
  thread_ = std::jthread([this](const std::stop_token& ended) { work(ended); });
  std::vector<std::string> hosts = all_gather(host_name());
  const std::lock_guard lock(mutex_);
  hosts_ = std::move(hosts);
}

Processes::Processes() = default;

Processes& Processes::one() {
  static Processes process;
  return process;
}

Processes::~Processes() = default;

int Processes::local_rank() const {
  if (size_ == 1) return 0;
  return static_cast<int>(
      std::count(hosts_.begin(), hosts_.begin() + rank_, hosts_[static_cast<size_t>(rank_)]));
}

int Processes::local_size() const {
  if (size_ == 1) return 1;
  return static_cast<int>(std::count(hosts_.begin(), hosts_.end(), hosts_[static_cast<size_t>(rank_)]));
}

std::string Processes::name(int rank) const {
  const std::string host = size_ == 1 ? host_name() : hosts_[static_cast<size_t>(rank)];
  return host.empty() ? fmt::format("process {}", rank) : fmt::format("process {} on {}", rank, host);
}

void Processes::set_timeout(double seconds) {
  if (size_ == 1) return;
  barrier();  // all have been heard of just now
  {
    const std::lock_guard lock(mutex_);
    timeout_ = seconds;
    for (const auto& peer : peers_)
      if (peer) peer->heard = Clock::now();
  }
  barrier();  // none continues while another one still sends signs of life at the former interval
}

Processes::Message Processes::send(int to, Buffer buffer, size_t bytes) {
  bytes_sent_ += static_cast<int64_t>(bytes);
  return post(to, true, std::move(buffer), bytes);
}

Processes::Message Processes::receive(int from, Buffer buffer, size_t max_bytes) {
  return post(from, false, std::move(buffer), max_bytes);
}

Processes::Message Processes::post(int peer, bool sends, Buffer buffer, size_t bytes) {
  const std::lock_guard lock(mutex_);
  check_failure();
  auto entry = std::make_shared<Entry>();
  *entry = {.peer = peer, .sends = sends, .buffer = std::move(buffer), .bytes = bytes};
  posted_.push_back(entry);
  entries_.emplace(next_, std::move(entry));
  changed_.notify_all();
  return next_++;
}

Processes::Entry& Processes::entry(Message message) {
  const auto found = entries_.find(message);
  require(found != entries_.end(), "a message was waited for twice");
  return *found->second;
}

bool Processes::done(Message message) {
  const std::lock_guard lock(mutex_);
  check_failure();
  return entry(message).done;
}

size_t Processes::wait(Message message) {
  std::unique_lock lock(mutex_);
  Entry& waited = entry(message);
  if (!waited.done) {
    const auto begun = Clock::now();
    waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return waited.done || failure_; });
    waiting_ = false;
    seconds_waited_ += std::chrono::duration<double>(Clock::now() - begun).count();
  }
  if (!waited.done) check_failure();
  const size_t bytes = waited.bytes;
  entries_.erase(message);
  return bytes;
}

void Processes::check() {
  const std::lock_guard lock(mutex_);
  check_failure();
}

void Processes::check_failure() {
  if (!failure_) return;
  failure_noticed_ = true;
  throw ProcessFailure(*failure_);
}

/// The thread that moves the messages. It is the only one that uses the transport.
void Processes::work(const std::stop_token& ended) {
  using std::chrono::microseconds;
  auto moved = Clock::now();
  while (!ended.stop_requested()) {
    std::unique_lock lock(mutex_);
    const auto now = Clock::now();
    if (move_data() || move_control(now)) moved = now;
    check_silence(now);
    // Each iteration may interrupt a thread that computes. Therefore iterations are rare unless a thread waits.
    const bool recently = now - moved < microseconds(100);
    const auto pause = microseconds(recently ? 0 : waiting_ ? 50 : active_.empty() ? 5000 : 1000);
    if (pause.count() == 0) {
      lock.unlock();
      std::this_thread::yield();
    } else {
      changed_.wait_for(lock, pause, [&] { return !posted_.empty() || ended.stop_requested(); });
    }
  }
}

/// Starts and completes messages. Returns whether there were any.
bool Processes::move_data() {
  bool any = !posted_.empty();
  for (; !posted_.empty(); posted_.pop_front()) {
    std::shared_ptr<Entry>& entry = posted_.front();
    const std::span bytes(entry->buffer.get(), entry->bytes);
    entry->operation = entry->sends ? transport_->send(entry->peer, Transport::Channel::data, bytes)
                                    : transport_->receive(entry->peer, Transport::Channel::data, bytes);
    active_.push_back(std::move(entry));
  }
  const auto finish = [&](const std::shared_ptr<Entry>& entry) {
    const std::optional<size_t> bytes = transport_->done(entry->operation);
    if (!bytes) return false;
    if (!entry->sends) {
      entry->bytes = *bytes;
      peers_[static_cast<size_t>(entry->peer)]->heard = Clock::now();
    }
    return entry->done = true;
  };
  if (std::erase_if(active_, finish) == 0) return any;
  changed_.notify_all();
  return true;
}

/// Receives control messages, and tells the other processes, ten times in the timeout, that this one is alive.
bool Processes::move_control(Clock::time_point now) {
  bool any = false;
  if (std::chrono::duration<double>(now - last_alive_sent_).count() > timeout_ / 10) {
    last_alive_sent_ = now;
    for (const auto& peer : peers_)
      if (peer && !peer->sending && peer->to_send.empty()) peer->to_send.emplace_back();
  }
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    Peer& peer = *peers_[static_cast<size_t>(rank)];
    if (transport_->done(peer.receiving)) {
      any = true;
      handle_control(rank, peer.incoming);
      peer.receiving = transport_->receive(rank, Transport::Channel::control,
                                           {reinterpret_cast<std::byte*>(&peer.incoming), sizeof(Control)});
    }
    if (peer.sending && transport_->done(*peer.sending)) peer.sending.reset();
    if (!peer.sending && !peer.to_send.empty()) {
      peer.outgoing = peer.to_send.front();
      peer.to_send.pop_front();
      peer.sending = transport_->send(rank, Transport::Channel::control,
                                      {reinterpret_cast<const std::byte*>(&peer.outgoing), sizeof(Control)});
    }
  }
  return any;
}

void Processes::handle_control(int from, const Control& control) {
  Peer& peer = *peers_[static_cast<size_t>(from)];
  peer.heard = Clock::now();
  if (control.kind == failed) {
    peer.failed = true;
    fail(from, fmt::format("{}: {}", name(from), control.text), control.status);
  } else if (control.kind == left) {
    peer.left = true;
  } else if (control.kind == ask_for_ticket) {
    send_control(peer, ticket, std::to_string(tickets_++));
  } else if (control.kind == ticket) {
    ticket_ = std::stoll(control.text);
  }
  changed_.notify_all();
}

void Processes::send_control(Peer& peer, int32_t kind, const std::string& text, int32_t status) {
  Control control{.kind = kind, .status = status};
  text.copy(control.text, sizeof control.text - 1);
  peer.to_send.push_back(control);
}

void Processes::broadcast_control(int32_t kind, const std::string& text, int32_t status) {
  for (const auto& peer : peers_)
    if (peer) send_control(*peer, kind, text, status);
}

int64_t Processes::next_ticket() {
  std::unique_lock lock(mutex_);
  if (is_root()) return tickets_++;
  check_failure();
  ticket_.reset();
  send_control(*peers_[0], ask_for_ticket);
  waiting_ = true;
  changed_.wait(lock, [&] { return ticket_ || failure_; });
  waiting_ = false;
  if (!ticket_) check_failure();
  return *ticket_;
}

/// A process from which nothing has arrived in time has failed. But if this process itself was suspended, the
/// time of all others starts again.
void Processes::check_silence(Clock::time_point now) {
  const auto seconds_since = [&](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  const bool was_suspended = seconds_since(last_iteration_) > timeout_ / 2;
  last_iteration_ = now;
  for (int rank = 0; rank < size_; ++rank) {
    Peer* peer = peers_[static_cast<size_t>(rank)].get();
    if (!peer) continue;
    if (was_suspended) peer->heard = now;
    // Before the timeout, so that all processes have ended by then.
    if (peer->left || failure_ || seconds_since(peer->heard) <= 0.7 * timeout_) continue;
    fail(rank_,
         fmt::format("{} has not answered in time (distributed.timeout: {:g} seconds): it has been ended or "
                     "stopped, or the network is down",
                     name(rank), timeout_));
  }
  // The thread that computes has not noticed the failure in time; the other processes can't continue without
  // it.
  if (!failure_ || failure_noticed_ || seconds_since(failed_) <= timeout_ / 5) return;
  if (failure_->rank() == rank_)  // otherwise the process that found it prints it
    std::fputs(fmt::format("error: {}: {}\n", name(rank_), failure_->what()).c_str(), stderr);
  transport_->abort(failure_->status());
}

void Processes::fail(int reporter, const std::string& what, int status) {
  if (failure_) return;
  failure_.emplace(reporter, what, status);
  failed_ = Clock::now();
  changed_.notify_all();
  stop_.request_stop();
}

/// The time for which a process waits whether one of a lower rank reports the failure.
double Processes::seconds_to_report() const { return std::min(1.0, timeout_ / 20); }

bool Processes::others_left() const {
  return std::ranges::all_of(peers_, [](const auto& peer) { return !peer || peer->left; });
}

bool Processes::report(const std::string& failure, int status) {
  if (size_ == 1) return true;
  std::unique_lock lock(mutex_);
  fail(rank_, failure, status);
  failure_noticed_ = true;
  broadcast_control(failed, failure, status);
  const auto earlier_reports = [&] {
    return std::any_of(peers_.begin(), peers_.begin() + rank_, [](const auto& peer) { return peer->failed; });
  };
  changed_.wait_for(lock, std::chrono::duration<double>(rank_ == 0 ? 0 : seconds_to_report()), earlier_reports);
  return !earlier_reports();
}

void Processes::close() {
  if (size_ == 1) return;
  std::unique_lock lock(mutex_);
  broadcast_control(left);
  const auto all_sent = [&] {
    return std::ranges::all_of(peers_, [](const auto& p) { return !p || (!p->sending && p->to_send.empty()); });
  };
  const auto ended = [&] { return others_left() && all_sent(); };
  while (!ended() && !failure_) changed_.wait_for(lock, std::chrono::milliseconds(10));
  if (failure_) {
    failure_noticed_ = true;
    // The root terminates all processes; the others give it the time to do so.
    const double seconds =
        std::min(max_seconds_to_leave, timeout_ / 10) + (rank_ == 0 ? 0 : seconds_to_report());
    const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
    while (!ended() && Clock::now() < deadline) changed_.wait_for(lock, std::chrono::milliseconds(10));
  }
  const bool all = ended();
  const double timeout = timeout_;
  const int status = failure_ ? failure_->status() : 1;
  lock.unlock();
  thread_.request_stop();
  thread_.join();
  if (!all) return transport_->abort(status);
  const Watchdog watchdog(timeout, name(rank_) +
                                       ": the work is done, but another process does not end: it has been "
                                       "stopped, or the network is down");
  transport_->close();
}

}  // namespace sixfold
