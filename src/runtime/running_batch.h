#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "runtime/request_queue.h"

namespace sixfold {

/// The requests that are decoded together (continuous batching). Each has its own strategy and its own
/// position. When a request finishes, a new one can take its place. The result of a request does not depend on
/// the other requests. For one thread at a time; the thread may change between steps.
class RunningBatch {
 public:
  RunningBatch(DecodeWorkspace workspace, RequestQueue& queue);
  RunningBatch(const RunningBatch&) = delete;
  RunningBatch& operator=(const RunningBatch&) = delete;

  /// Performs one step: admits requests of at most `share` tokens together, extends every hypothesis by one
  /// token, and completes the requests that have finished. If an error occurs while requests are admitted, each
  /// of them is admitted on its own, and those that fail alone fail. An error while decoding fails all requests
  /// of the batch. Returns whether any request is left.
  bool step(const BatchRoom& limits = {});
  /// The kernels of later steps share their work among the threads of `pool`; null, or without memory for their
  /// scratch buffers: one thread computes them.
  void use_threads(ThreadPool* pool) noexcept;
  bool empty() const { return active_.empty(); }
  /// The numbers of the calls (`Request::call`) whose requests were completed, successfully or not, since this
  /// function was last called. If memory is exhausted, some may be missing.
  std::vector<uint64_t> take_ended() { return std::exchange(ended_, {}); }

 private:
  struct Active {
    int number;
    std::unique_ptr<Request> request;
    bool stepped = false;
  };
  int free_number();
  void cancel();
  void admit(BatchRoom room);
  void enter(std::span<std::unique_ptr<Request>> requests);
  void advance();
  void show_settled();
  void retire();
  void count_step();
  void finish(Active& active);
  void fail(Active& active, const std::exception_ptr& error) noexcept;
  void fail(Request& request, const std::exception_ptr& error) noexcept;
  void fail_all(const std::exception_ptr& error) noexcept;
  void note_end(const Request& request) noexcept;
  void free_memory();
  void free_scorer() noexcept;

  DecodeWorkspace workspace_;
  RequestQueue& queue_;
  std::unique_ptr<Scorer> scorer_;  // none until it is needed
  RequestQueue::Requests entering_;
  std::vector<Active> active_;
  std::vector<int> free_numbers_;
  int numbers_ = 0;              // request numbers assigned so far
  std::vector<uint64_t> ended_;  // numbers of calls
  std::vector<Extension> extensions_;
  std::vector<Query> queries_;
  std::vector<size_t> begins_;
};

}  // namespace sixfold
