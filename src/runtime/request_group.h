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

/// The requests of one call, whose results are wanted together. The calling thread queues them and helps the
/// engine to decode. A call derives its own class, which receives the results.
class RequestGroup : public ResultSink {
 public:
  void done(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) final;
  void failed(size_t index, std::exception_ptr error) noexcept final;

 protected:
  explicit RequestGroup(Engine& engine, std::string caller = "")
      : engine_(engine), client_(engine, std::move(caller)) {}

  /// Calls `queue_all`, which calls `queue` or `submit` for each request, and returns when all of them are
  /// complete. Rethrows the first error; throws `Cancelled` if `cancel` was requested.
  void run(const std::stop_token& cancel, const std::function<void()>& queue_all);
  /// Completes `request` (client, cancellation, sink and index) and queues it. Waits, and decodes, while many
  /// wait already.
  void queue(std::unique_ptr<Request> request, size_t index);
  /// The same without waiting, for a call that decides itself how many are to wait.
  void submit(std::unique_ptr<Request> request, size_t index);
  /// Decodes, or waits for others who do, as `Engine::help`; polls.
  void help();
  /// The number of requests that are not complete.
  size_t requested();
  /// The total size in tokens of the requests that are not being decoded yet.
  int64_t waiting_tokens() const { return engine_.waiting_tokens(client_); }
  /// Whether the call is to end: it was cancelled, or a request failed.
  bool stopped() const { return stop_.stop_requested(); }

  /// Receives the result of a request, as `ResultSink::done`.
  virtual void complete(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) = 0;

 private:
  bool has_room(size_t ids);
  void end_one(size_t index);

  Engine& engine_;
  Engine::Client client_;
  std::stop_source stop_;
  std::mutex mutex_;      // guards all members below
  size_t requested_ = 0;  // number of requests that are not completed
  size_t ids_ = 0;        // of their sources
  std::map<size_t, size_t> ids_of_;
  std::exception_ptr error_;
};

}  // namespace sixfold
