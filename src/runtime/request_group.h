#pragma once
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine.h"

namespace sixfold {

/// The requests of one call of a predictor. The calling thread queues them, helps the engine to decode, and
/// returns when all are complete. Each kind of call derives a class, which receives the results.
class RequestGroup : public ResultSink {
 public:
  void done(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) final;
  void failed(size_t index, std::exception_ptr error) noexcept final;

 protected:
  /// `client`: the name of the client that the call serves (`RequestQueue`).
  explicit RequestGroup(Engine& engine, std::string client = "")
      : engine_(engine), call_(engine, std::move(client)) {}

  /// Calls `queue_all`, which calls `queue` or `submit` for each request, and returns when all of them are
  /// complete. Rethrows the first error; throws `Cancelled` if `cancel` was requested.
  void run(const std::stop_token& cancel, const std::function<void()>& queue_all);
  /// Sets the call, the cancellation, the sink and the index of the request, and queues it. Decodes or waits
  /// first while many requests of the call are not complete.
  void queue(std::unique_ptr<Request> request, size_t index);
  /// The same without waiting, for a call that limits the number of its waiting requests itself.
  void submit(std::unique_ptr<Request> request, size_t index);
  /// Calls `Poll::now`, then `Engine::help`.
  void help();
  /// The number of requests that are not complete.
  size_t pending();
  /// The total size in tokens of the requests that are not being decoded yet.
  int64_t waiting_tokens() const { return engine_.waiting_tokens(call_); }
  /// Whether the call must end, because it was cancelled or a request failed.
  bool stopped() const { return stop_.stop_requested(); }

  /// Receives the result of a request, as `ResultSink::done`.
  virtual void complete(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) = 0;

 private:
  bool has_room(size_t ids);
  void remove_pending(size_t index);

  Engine& engine_;
  Engine::Call call_;
  std::stop_source stop_;
  std::mutex mutex_;                         // guards all members below
  size_t pending_ = 0;                       // number of requests that are not complete
  size_t pending_ids_ = 0;                   // number of ids of their sources
  std::map<size_t, size_t> ids_of_request_;  // the same by the index of the request
  std::exception_ptr error_;
};

}  // namespace sixfold
