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
  /// The exit status of the process that failed, with which all processes end.
  int status() const { return status_; }

 private:
  int rank_, status_;
};

/// The processes of a run, numbered from 0, the root; most often there is only one. Calls marked collective are
/// made by all processes, in the same order. They throw `ProcessFailure` if a process has failed, or has not
/// been heard of for the timeout. All public functions are for one thread. The object has another thread, which
/// moves the messages while the first one computes, and regularly tells the other processes that this one is
/// alive.
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
  /// The number of this process among those on this host, from 0, and their number.
  int local_rank() const;
  int local_size() const;
  /// "process 2 on host"
  std::string name(int rank) const;
  /// Collective. Sets the time after which a silent process counts as failed.
  void set_timeout(double seconds);

  /// Collective: returns the values of all processes, by rank.
  std::vector<std::string> all_gather(const std::string& value);
  std::vector<std::vector<double>> all_gather_numbers(std::span<const double> values);
  /// Collective: the same on the root; an empty list on other processes.
  std::vector<std::string> gather(const std::string& value);
  /// Collective: returns the value of the root.
  std::string broadcast(const std::string& value);
  double broadcast(double value);
  /// Collective: whether the value of any process is true.
  bool any(bool value);
  /// Collective: returns when all processes have called it.
  void barrier() { any(false); }
  /// Collective: returns the values of all processes, interleaved: the first value of each process, by rank,
  /// then the second ones, and so on. So process i gives the elements i, i + size(), ... of the result.
  std::vector<std::string> interleave(const std::vector<std::string>& values);
  /// Collective: runs `work` on the root, then on the first process of each other host, then on all others. So
  /// files that the work creates, or uses if they exist, are created once for each host.
  template <class Work>
  auto run_root_first(const Work& work);

  /// Returns the next of the numbers 0, 1, 2, ..., each of which only one process gets, for work that is
  /// divided among processes dynamically. Not collective; the thread of the root answers while the root
  /// computes.
  int64_t next_ticket();

  /// Messages, which all functions above use too: a process must receive the messages of another one in the
  /// order in which that one sends them. The elements of the buffer must not be changed until the message is
  /// done.
  using Message = int64_t;
  using Buffer = std::shared_ptr<std::byte[]>;
  Message send(int to, Buffer buffer, size_t bytes);
  Message receive(int from, Buffer buffer, size_t max_bytes);
  /// Whether the message has been sent or received completely. Throws as collective calls do.
  bool done(Message message);
  /// Waits until the message is done. Returns its number of bytes. To be called once for each message.
  size_t wait(Message message);
  /// The bytes that this process has sent with `send`.
  int64_t bytes_sent() const { return bytes_sent_; }
  /// The time that this process has waited for messages, in seconds.
  double seconds_waited() const { return seconds_waited_; }

  /// Throws as collective calls do, without waiting.
  void check();
  /// Stop is requested when a process has failed, for work between collective calls.
  std::stop_token failure() const { return stop_.get_token(); }

  /// Tells the other processes why this one ends, and with which exit status. Returns whether this process
  /// should print the error: of all processes that report a failure at about the same time, only the one of the
  /// lowest rank does.
  bool report(const std::string& failure, int status = 1);
  /// Collective: ends the communication when all processes have called it. After a failure it waits only for a
  /// few seconds, and then has all processes terminated.
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
  void handle_control(int from, const Control& control);
  void send_control(Peer& peer, int32_t kind, const std::string& text = "", int32_t status = 1);
  void broadcast_control(int32_t kind, const std::string& text = "", int32_t status = 1);
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
  std::map<Message, std::shared_ptr<Entry>> entries_;  ///< messages for which `wait` was not called yet
  std::deque<std::shared_ptr<Entry>> posted_;          ///< messages that the thread has not started
  std::vector<std::shared_ptr<Entry>> active_;         ///< messages that it has started
  std::vector<std::unique_ptr<Peer>> peers_;           ///< by process; null: this one
  Message next_ = 0;
  bool waiting_ = false;
  double timeout_ = 60;
  Clock::time_point last_alive_sent_;  ///< when the other processes were last told that this one is alive
  Clock::time_point failed_;           ///< when a failure became known
  Clock::time_point last_iteration_;   ///< when `check_silence` was last called
  std::optional<ProcessFailure> failure_;
  std::stop_source stop_;
  bool failure_noticed_ = false;   ///< whether the thread that computes knows of the failure
  int64_t tickets_ = 0;            ///< number of tickets that the root has given
  std::optional<int64_t> ticket_;  ///< the ticket that this process has received
  std::jthread thread_;
};

template <class Work>
auto Processes::run_root_first(const Work& work) {
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
