#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "train/distributed/transport.h"

namespace sixfold {

/// Another process has failed, or can't be reached. `rank` is that of the process that reports the cause.
class ProcessFailure : public Error {
 public:
  ProcessFailure(int rank, const std::string& message, int status = 1)
      : Error(Fault::environment, message), rank_(rank), status_(status) {}
  int rank() const { return rank_; }
  /// The exit status of the process that failed, which all take.
  int status() const { return status_; }

 private:
  int rank_, status_;
};

/// The processes of a run, numbered from 0, the root; most often there is only one. Calls marked collective are
/// made by all processes, in the same order. They throw `ProcessFailure` if a process has failed, or has not
/// been heard of for the timeout. All public functions are for one thread; a thread of its own moves the
/// messages, so that they arrive while that one computes, and tells the others that this process lives.
class Processes {
 public:
  /// The only process of a run. It can be shared by all runs, since it has no state.
  static Processes& one();
  /// Collective. `transport` must outlive this object.
  explicit Processes(Transport& transport, double timeout_seconds = 60);
  /// Ends the thread. Without `close` before, the transport is left as it is.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }
  /// The names of the hosts, by process. Empty for one process.
  const std::vector<std::string>& hosts() const { return hosts_; }
  /// How many of the processes on this host are before this one, and how many there are.
  int local_rank() const;
  int local_size() const;
  /// "process 2 on host"
  std::string name(int rank) const;
  /// How long a process may be silent. Collective.
  void set_timeout(double seconds);

  /// Collective: what all processes give, in order.
  std::vector<std::string> gather(const std::string& own);
  std::vector<std::vector<double>> gather_numbers(std::span<const double> own);
  /// Collective: the same, on the root; nothing on other processes.
  std::vector<std::string> gather_at_root(const std::string& own);
  /// Collective: what the root gives.
  std::string from_root(const std::string& value);
  double from_root(double value);
  /// Collective: whether any process says so.
  bool any(bool value);
  /// Collective: returns when all processes have called it.
  void barrier() { any(false); }
  /// Collective: what all processes give, in turn: the first of each, in the order of the processes, then the
  /// second, and so on; so process i has computed the elements i, i + size(), ...
  std::vector<std::string> interleave(const std::vector<std::string>& own);
  /// Collective: runs `work` on the root, then on the first process of each other host, then on all others. So
  /// files that the work makes and finds again are made once for each disk.
  template <class Work>
  auto one_after_the_other(const Work& work);

  /// Returns 0, 1, 2, ..., each number to one caller among all processes, so that work is done by who is free.
  /// Not collective; the root answers while it computes.
  int64_t next_ticket();

  /// Messages, which all calls above use too: each process must receive in the order in which the other sends.
  /// The elements of the buffer must not be changed until the message is done.
  using Message = int64_t;
  using Buffer = std::shared_ptr<std::byte[]>;
  Message send(int to, Buffer buffer, size_t bytes);
  Message receive(int from, Buffer buffer, size_t most_bytes);
  /// Whether the message has been sent or received completely. Throws as collective calls do.
  bool done(Message message);
  /// Waits for it. Returns its number of bytes. A message may be waited for once.
  size_t wait(Message message);
  /// The bytes that this process has sent with `send`.
  int64_t bytes_sent() const { return bytes_sent_; }
  /// The time that this process has waited for messages, in seconds.
  double seconds_waited() const { return seconds_waited_; }

  /// Throws as collective calls do, without waiting.
  void check();
  /// Stop is requested when a process has failed, for work between collective calls.
  std::stop_token failure() const { return stop_.get_token(); }

  /// Tells the others why this process ends, and with which exit status. Returns whether it is the one that
  /// should say so to the user: of all processes that report a failure at about the same time, the first.
  bool report(const std::string& failure, int status = 1);
  /// Collective: ends the communication after all processes have got here. After a failure it waits for a few
  /// seconds only, and then has all processes ended by force.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry;
  struct Control;
  struct Peer;

  Processes();
  using Outgoing = std::vector<Message>;
  struct Incoming {
    int from = 0;
    Buffer head;
    Message message = 0;
  };
  Outgoing send_text(int to, const std::string& text);
  Incoming expect_text(int from);
  std::string take_text(const Incoming& incoming);
  Message post(int peer, bool sends, Buffer buffer, size_t bytes);
  Entry& entry(Message message);
  void work(const std::stop_token& ended);
  bool move_data();
  bool move_control(Clock::time_point now);
  void take(int from, const Control& control);
  void tell(Peer& peer, int32_t kind, const std::string& text = "", int32_t status = 1);
  void tell_all(int32_t kind, const std::string& text = "", int32_t status = 1);
  void check_silence(Clock::time_point now);
  void fail(int reporter, const std::string& what, int status = 1);
  double seconds_to_report() const;
  void check_failure();
  bool others_left() const;

  Transport* transport_ = nullptr;
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  int64_t bytes_sent_ = 0;
  double seconds_waited_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Message, std::shared_ptr<Entry>> entries_;  ///< that nobody has waited for
  std::deque<std::shared_ptr<Entry>> posted_;          ///< that the thread has not started
  std::vector<std::shared_ptr<Entry>> active_;         ///< that it has started
  std::vector<std::unique_ptr<Peer>> peers_;           ///< by process; null: this one
  Message next_ = 0;
  bool waiting_ = false;
  double timeout_ = 60;
  Clock::time_point told_, failed_,
      looked_;  ///< when: the others were told, a failure was known, `work` looked
  std::optional<ProcessFailure> failure_;
  std::stop_source stop_;
  bool failure_taken_ = false;
  int64_t tickets_ = 0;            ///< that the root has given
  std::optional<int64_t> ticket_;  ///< that this process was given
  std::jthread thread_;
};

template <class Work>
auto Processes::one_after_the_other(const Work& work) {
  std::optional<decltype(work())> result;
  const bool first_of_host = local_rank() == 0;
  for (int turn = 0; turn < 3; ++turn) {
    if ((turn == 0 && is_root()) || (turn == 1 && first_of_host && !is_root()) || (turn == 2 && !first_of_host))
      result.emplace(work());
    barrier();
  }
  return std::move(*result);
}

}  // namespace sixfold
