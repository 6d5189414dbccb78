#pragma once
#include <functional>

namespace sixfold {

/// What this thread is to do now and then while it calls predictors, for as long as the object exists: between
/// steps of decoding and between tasks, and while it waits for other threads, at least every 0.2 s. It is for
/// threads that others need, such as Python's main thread, which handles signals. `work` may call predictors
/// itself, and must not throw. Of several objects, the one made last counts.
class Poll {
 public:
  explicit Poll(std::function<void()> work);
  ~Poll();
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  /// Does the work of this thread, if there is any.
  static void now();

 private:
  const std::function<void()> work_;
  Poll* const outer_;
};

}  // namespace sixfold
