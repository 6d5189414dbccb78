#pragma once
#include <functional>
#include <stop_token>

namespace sixfold {

/// A function that this thread calls regularly while it runs calls of predictors, for as long as the object
/// exists: between texts that are read, steps of decoding and tasks, and every 0.2 s while it waits for other
/// threads. It is for threads that have other duties, such as Python's main thread, which handles signals.
/// `work` may call predictors itself, and must not throw; subnormal numbers may count as zero in it. If a
/// thread has several objects, only the one made last is used.
class Poll {
 public:
  explicit Poll(std::function<void()> work);
  ~Poll();
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  /// Does the work of this thread, if there is any.
  static void now();
  /// The same; then throws `Cancelled` if stop was requested.
  static void now(const std::stop_token& cancel);

 private:
  const std::function<void()> work_;
  Poll* const outer_;
};

}  // namespace sixfold
