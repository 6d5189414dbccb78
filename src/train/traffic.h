#pragma once
#include <chrono>
#include <string>

#include "train/distributed/processes.h"

namespace sixfold {

/// What a process of a training run sends, and how long it waits for others, from the construction of this
/// object on.
class Traffic {
 public:
  /// `update`: the number of updates so far.
  Traffic(const Processes& processes, int64_t update);
  /// For a person, about the updates since; empty if there are none, or only one process.
  std::string text(int64_t update) const;

 private:
  const Processes& processes_;
  const int64_t update_, bytes_;
  const double waited_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace sixfold
