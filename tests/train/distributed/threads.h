#pragma once
#include <barrier>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "train/distributed/processes.h"

namespace sixfold {

/// What the threads of a test, which stand for processes, send to each other.
struct Post {
  std::mutex mutex;
  std::map<std::tuple<int, int, Transport::Channel>, std::deque<std::vector<std::byte>>> boxes;  // from, to
  std::vector<bool> silent;  ///< processes whose messages get lost from now on
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(Post& post, int rank, int size) : post_(post), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Operation send(int to, Channel channel, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(post_.mutex);
    if (!post_.silent[static_cast<size_t>(rank_)])
      post_.boxes[{rank_, to, channel}].emplace_back(bytes.begin(), bytes.end());
    active_[next_] = {};
    return next_++;
  }
  Operation receive(int from, Channel channel, std::span<std::byte> bytes) override {
    active_[next_] = Receipt{from, channel, bytes};
    waiting_[{from, channel}].push_back(next_);
    return next_++;
  }
  std::optional<size_t> done(Operation operation) override {
    const auto found = active_.find(operation);
    if (!found->second) {
      active_.erase(found);
      return 0;
    }
    const Receipt receipt = *found->second;
    auto& waiting = waiting_[{receipt.from, receipt.channel}];
    if (waiting.front() != operation) return std::nullopt;  // messages come in order
    const std::lock_guard lock(post_.mutex);
    auto& box = post_.boxes[{receipt.from, rank_, receipt.channel}];
    if (box.empty()) return std::nullopt;
    const std::vector<std::byte> message = std::move(box.front());
    box.pop_front();
    if (message.size() > receipt.bytes.size()) std::terminate();
    if (!message.empty()) std::memcpy(receipt.bytes.data(), message.data(), message.size());
    waiting.pop_front();
    active_.erase(found);
    return message.size();
  }
  void close() override {}
  void abort(int) override { aborted = true; }

  std::atomic<bool> aborted = false;

 private:
  struct Receipt {
    int from;
    Channel channel;
    std::span<std::byte> bytes;
  };
  Post& post_;
  int rank_, size_;
  Operation next_ = 0;
  std::map<Operation, std::optional<Receipt>> active_;
  std::map<std::pair<int, Channel>, std::deque<Operation>> waiting_;
};

/// Runs `work` in `count` threads, each of which is a process of its own. Rethrows the failure of the first
/// that has one.
inline void on_processes(int count, const std::function<void(Processes&)>& work) {
  Post post;
  post.silent.assign(static_cast<size_t>(count), false);
  std::vector<std::exception_ptr> failures(static_cast<size_t>(count));
  std::barrier all_begun(count);  // a process that fails before others have begun ends their beginning
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      ThreadTransport transport(post, rank, count);
      Processes processes(transport, 20);
      all_begun.arrive_and_wait();
      try {
        work(processes);
        processes.close();
      } catch (const std::exception& failure) {
        failures[static_cast<size_t>(rank)] = std::current_exception();
        if (!dynamic_cast<const ProcessFailure*>(&failure)) processes.report(failure.what());
        processes.close();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace sixfold
